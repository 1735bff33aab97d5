#include "go_asm.h"
#include "textflag.h"

// 1/2, 1, 256, the end of the guard band (2^20), the least w (2^-160), and the guard band's other end
DATA cornerNumbers<>+0(SB)/8, $0.5
DATA cornerNumbers<>+8(SB)/8, $1.0
DATA cornerNumbers<>+16(SB)/8, $256.0
DATA cornerNumbers<>+24(SB)/8, $1048576.0
DATA cornerNumbers<>+32(SB)/8, $0x35f0000000000000
DATA cornerNumbers<>+40(SB)/8, $-1048576.0
GLOBL cornerNumbers<>(SB), RODATA|NOPTR, $48

// The bits of the planes.
DATA cornerBits<>+0(SB)/4, $(1<<const_planeBad)
DATA cornerBits<>+4(SB)/4, $(1<<const_planeW)
DATA cornerBits<>+8(SB)/4, $(1<<const_planeNear)
DATA cornerBits<>+12(SB)/4, $(1<<const_planeFar)
DATA cornerBits<>+16(SB)/4, $(1<<const_planeGuard)
DATA cornerBits<>+20(SB)/4, $(2<<const_planeGuard)
DATA cornerBits<>+24(SB)/4, $(4<<const_planeGuard)
DATA cornerBits<>+28(SB)/4, $(8<<const_planeGuard)
DATA cornerBits<>+32(SB)/4, $(1<<const_planeVolume)
DATA cornerBits<>+36(SB)/4, $(2<<const_planeVolume)
DATA cornerBits<>+40(SB)/4, $(4<<const_planeVolume)
DATA cornerBits<>+44(SB)/4, $(8<<const_planeVolume)
GLOBL cornerBits<>(SB), RODATA|NOPTR, $48

// OUTSIDE sets a bit in Y8 where a is less than b.
#define OUTSIDE(a, b, bit) \
	VCMPPD $0x11, b, a, K1 \
	VPORD.BCST cornerBits<>+bit(SB), Y8, K1, Y8

// GUARDS does so at both guards of an axis.
#define GUARDS(at, size, near, far, bits) \
	VMULPD.BCST size(DI), at, Z4 \
	VMULPD.BCST near(DI), Z3, Z5 \
	VADDPD Z5, Z4, Z5 \
	OUTSIDE(Z5, Z9, bits) \
	VMULPD.BCST far(DI), Z3, Z5 \
	VSUBPD Z4, Z5, Z5 \
	OUTSIDE(Z5, Z9, (bits+4))

// SNAPPED makes a coordinate in the framebuffer, and the same in 1/256 pixels.
#define SNAPPED(at, size, centre, place, fixed) \
	VMULPD Z6, at, Z4 \
	VMULPD.BCST size(DI), Z4, Z4 \
	VADDPD.BCST centre(DI), Z4, Z4 \
	VMAXPD Z15, Z4, Z4 \
	VMINPD Z14, Z4, Z4 \
	VMOVUPD Z4, (place)(R8*8) \
	VMULPD Z13, Z4, Z4 \
	VADDPD Z11, Z4, Z4 \
	VRNDSCALEPD $9, Z4, Z4 \
	VCVTPD2QQ Z4, Z4 \
	VMOVDQU64 Z4, (fixed)(R8*8)

// func cornersAVX512(p *cornerPlan, n int)
TEXT ·cornersAVX512(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ (cornerPlan_position+0)(DI), AX
	MOVQ (cornerPlan_position+8)(DI), BX
	MOVQ (cornerPlan_position+16)(DI), DX
	MOVQ (cornerPlan_position+24)(DI), SI
	MOVQ cornerPlan_codes(DI), R9
	MOVQ cornerPlan_fx(DI), R10
	MOVQ cornerPlan_fy(DI), R11
	MOVQ cornerPlan_px(DI), R14
	MOVQ cornerPlan_py(DI), R15
	MOVQ cornerPlan_depth(DI), R12
	MOVQ cornerPlan_q(DI), R13
	XORL R8, R8
	VPXORQ Z9, Z9, Z9
	VBROADCASTSD cornerNumbers<>+0(SB), Z11
	VBROADCASTSD cornerNumbers<>+8(SB), Z12
	VBROADCASTSD cornerNumbers<>+16(SB), Z13
	VBROADCASTSD cornerNumbers<>+24(SB), Z14
	VBROADCASTSD cornerNumbers<>+40(SB), Z15
	VBROADCASTSD cornerNumbers<>+32(SB), Z16

loop:
	VMOVUPS (AX)(R8*4), Y0
	VMOVUPS (BX)(R8*4), Y1
	VMOVUPS (DX)(R8*4), Y2
	VMOVUPS (SI)(R8*4), Y3
	VFPCLASSPSY $0x99, Y0, K2 // infinite, or no number
	VFPCLASSPSY $0x99, Y1, K3
	VFPCLASSPSY $0x99, Y2, K4
	VFPCLASSPSY $0x99, Y3, K5
	KORB K3, K2, K2
	KORB K5, K4, K4
	KORB K4, K2, K2
	VCVTPS2PD Y0, Z0
	VCVTPS2PD Y1, Z1
	VCVTPS2PD Y2, Z2
	VCVTPS2PD Y3, Z3
	VPXOR Y8, Y8, Y8
	VSUBPD Z3, Z9, Z7 // -w
	OUTSIDE(Z3, Z16, 4)
	CMPB cornerPlan_depthClip(DI), $0
	JEQ volume
	OUTSIDE(Z3, Z2, 12)
	CMPB cornerPlan_symmetric(DI), $0
	JNE symmetric
	OUTSIDE(Z2, Z9, 8)
	JMP volume

symmetric:
	VADDPD Z3, Z2, Z4
	OUTSIDE(Z4, Z9, 8)

volume:
	OUTSIDE(Z0, Z7, 32)
	OUTSIDE(Z3, Z0, 36)
	OUTSIDE(Z1, Z7, 40)
	OUTSIDE(Z3, Z1, 44)
	GUARDS(Z0, cornerPlan_hx, cornerPlan_left, cornerPlan_right, 16)
	GUARDS(Z1, cornerPlan_hy, cornerPlan_top, cornerPlan_bottom, 24)
	VPBROADCASTD cornerBits<>+0(SB), K2, Y8
	VMOVDQU Y8, (R9)(R8*4)
	VMAXPD Z16, Z3, Z6
	VDIVPD Z6, Z12, Z6
	VMOVUPD Z6, (R13)(R8*8)
	SNAPPED(Z0, cornerPlan_hx, cornerPlan_ox, R14, R10)
	SNAPPED(Z1, cornerPlan_hy, cornerPlan_oy, R15, R11)
	VMULPD Z6, Z2, Z4
	VMULPD.BCST cornerPlan_pz(DI), Z4, Z4
	VADDPD.BCST cornerPlan_oz(DI), Z4, Z4
	VMOVUPD Z4, (R12)(R8*8)
	ADDQ $8, R8
	CMPQ R8, CX
	JLT loop
	VZEROUPPER
	RET
