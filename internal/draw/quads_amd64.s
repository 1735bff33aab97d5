#include "go_asm.h"
#include "textflag.h"

DATA columns<>+0(SB)/8, $0.5
DATA columns<>+8(SB)/8, $1.5
DATA columns<>+16(SB)/8, $0.5
DATA columns<>+24(SB)/8, $1.5
GLOBL columns<>(SB), RODATA|NOPTR, $32

DATA lines<>+0(SB)/8, $0.5
DATA lines<>+8(SB)/8, $0.5
DATA lines<>+16(SB)/8, $1.5
DATA lines<>+24(SB)/8, $1.5
GLOBL lines<>(SB), RODATA|NOPTR, $32

// 1, 255, 65536.5
DATA numbers<>+0(SB)/8, $1.0
DATA numbers<>+8(SB)/8, $255.0
DATA numbers<>+16(SB)/8, $65536.5
DATA numbers<>+24(SB)/4, $65536
GLOBL numbers<>(SB), RODATA|NOPTR, $28

// PLANE evaluates a plane of the primitive at AX, in Y0 and Y1 pixels from its origin.
#define PLANE(offset, to, spare) \
	VBROADCASTSD (offset+plane_x)(AX), to \
	VMULPD Y0, to, to \
	VBROADCASTSD (offset+plane_y)(AX), spare \
	VMULPD Y1, spare, spare \
	VADDPD spare, to, to \
	VBROADCASTSD (offset+plane_c)(AX), spare \
	VADDPD to, spare, to

// PLANE8 is PLANE in Z0 and Z1, for two quads of one primitive.
#define PLANE8(offset, to, spare) \
	VMULPD.BCST (offset+plane_x)(AX), Z0, to \
	VMULPD.BCST (offset+plane_y)(AX), Z1, spare \
	VADDPD spare, to, to \
	VADDPD.BCST (offset+plane_c)(AX), to, to

// AXIS8 puts an axis' coordinates of two quads into a vector.
#define AXIS8(field, centers, origin, low, low4, to, spare, spare4) \
	VXORPD low, low, low \
	VCVTSI2SDL field(SI), low, low \
	VBROADCASTSD low, low4 \
	VXORPD spare, spare, spare \
	VCVTSI2SDL (quad__size+field)(SI), spare, spare \
	VBROADCASTSD spare, spare4 \
	VINSERTF64X4 $1, spare4, to, to \
	VADDPD centers, to, to \
	VBROADCASTSD origin(AX), Z2 \
	VSUBPD Z2, to, to

// func weighAVX512(quads *quad, n int, prims *prim, b1, b2 *float64)
TEXT ·weighAVX512(SB), NOSPLIT, $0-40
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ prims+16(FP), DI
	MOVQ b1+24(FP), R8
	MOVQ b2+32(FP), R9
	VBROADCASTF64X4 columns<>(SB), Z14
	VBROADCASTF64X4 lines<>(SB), Z15
	VBROADCASTSD numbers<>(SB), Z13
	MOVQ DI, AX
	MOVQ (prim_q+plane_x)(DI), BX
	ORQ (prim_q+plane_y)(DI), BX
	SHLQ $1, BX
	JZ flat

loop:
	AXIS8(quad_x, Z14, prim_x0, X0, Y0, Z0, X2, Y2)
	AXIS8(quad_y, Z15, prim_y0, X1, Y1, Z1, X2, Y2)
	PLANE8(prim_q, Z2, Z3)
	VDIVPD Z2, Z13, Z2
	PLANE8(prim_b, Z4, Z5)
	VMULPD Z2, Z4, Z4
	VMOVUPD Z4, (R8)
	PLANE8((prim_b+plane__size), Z6, Z7)
	VMULPD Z2, Z6, Z6
	VMOVUPD Z6, (R9)
	ADDQ $(2*quad__size), SI
	ADDQ $64, R8
	ADDQ $64, R9
	SUBQ $2, CX
	JNZ loop
	VZEROUPPER
	RET

flat: // the plane's slopes are zeros of any sign
	VDIVPD.BCST (prim_q+plane_c)(DI), Z13, Z13

same:
	AXIS8(quad_x, Z14, prim_x0, X0, Y0, Z0, X2, Y2)
	AXIS8(quad_y, Z15, prim_y0, X1, Y1, Z1, X2, Y2)
	PLANE8(prim_b, Z4, Z5)
	VMULPD Z13, Z4, Z4
	VMOVUPD Z4, (R8)
	PLANE8((prim_b+plane__size), Z6, Z7)
	VMULPD Z13, Z6, Z6
	VMOVUPD Z6, (R9)
	ADDQ $(2*quad__size), SI
	ADDQ $64, R8
	ADDQ $64, R9
	SUBQ $2, CX
	JNZ same
	VZEROUPPER
	RET

// func interpolateAVX512(dst *uint32, n int, attribute, b1, b2 *float64)
TEXT ·interpolateAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), BX
	MOVQ n+8(FP), CX
	MOVQ attribute+16(FP), DI
	MOVQ b1+24(FP), R8
	MOVQ b2+32(FP), R9
	VBROADCASTSD (DI), Z3
	VBROADCASTSD 8(DI), Z4
	VBROADCASTSD 16(DI), Z5

loop:
	VMULPD (R8), Z4, Z0
	VMULPD (R9), Z5, Z1
	VADDPD Z1, Z0, Z0
	VADDPD Z0, Z3, Z0
	VCVTPD2PS Z0, Y0
	VMOVUPS Y0, (BX)
	ADDQ $64, R8
	ADDQ $64, R9
	ADDQ $32, BX
	SUBQ $2, CX
	JNZ loop
	VZEROUPPER
	RET

// func weighAVX2(quads *quad, n int, prims *prim, b1, b2 *float64)
TEXT ·weighAVX2(SB), NOSPLIT, $0-40
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ prims+16(FP), DI
	MOVQ b1+24(FP), R8
	MOVQ b2+32(FP), R9
	VMOVUPD columns<>(SB), Y14
	VMOVUPD lines<>(SB), Y15
	VBROADCASTSD numbers<>(SB), Y13

loop:
	MOVLQSX quad_prim(SI), AX
	IMULQ $prim__size, AX
	ADDQ DI, AX
	VXORPD X0, X0, X0
	VCVTSI2SDL quad_x(SI), X0, X0
	VBROADCASTSD X0, Y0
	VADDPD Y14, Y0, Y0
	VBROADCASTSD prim_x0(AX), Y2
	VSUBPD Y2, Y0, Y0
	VXORPD X1, X1, X1
	VCVTSI2SDL quad_y(SI), X1, X1
	VBROADCASTSD X1, Y1
	VADDPD Y15, Y1, Y1
	VBROADCASTSD prim_y0(AX), Y3
	VSUBPD Y3, Y1, Y1
	PLANE(prim_q, Y2, Y3)
	VDIVPD Y2, Y13, Y2
	PLANE(prim_b, Y4, Y5)
	VMULPD Y2, Y4, Y4
	VMOVUPD Y4, (R8)
	PLANE((prim_b+plane__size), Y6, Y7)
	VMULPD Y2, Y6, Y6
	VMOVUPD Y6, (R9)
	ADDQ $quad__size, SI
	ADDQ $32, R8
	ADDQ $32, R9
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func interpolateAVX2(dst *uint32, quads *quad, n int, attrs *float64, pitch int, b1, b2 *float64)
TEXT ·interpolateAVX2(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), BX
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ attrs+24(FP), DI
	MOVQ pitch+32(FP), DX
	MOVQ b1+40(FP), R8
	MOVQ b2+48(FP), R9

loop:
	MOVLQSX quad_prim(SI), AX
	IMULQ DX, AX
	VBROADCASTSD 8(DI)(AX*1), Y0
	VMULPD (R8), Y0, Y0
	VBROADCASTSD 16(DI)(AX*1), Y1
	VMULPD (R9), Y1, Y1
	VADDPD Y1, Y0, Y0
	VBROADCASTSD (DI)(AX*1), Y1
	VADDPD Y0, Y1, Y0
	VCVTPD2PSY Y0, X0
	VMOVUPS X0, (BX)
	ADDQ $quad__size, SI
	ADDQ $32, R8
	ADDQ $32, R9
	ADDQ $16, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func unormAVX2(dst *byte, src *uint32, n int, shift uint64)
TEXT ·unormAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), BX
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VMOVQ shift+24(FP), X10
	VBROADCASTSD numbers<>+0(SB), Y13
	VBROADCASTSD numbers<>+8(SB), Y14
	VBROADCASTSD numbers<>+16(SB), Y15
	VPBROADCASTD numbers<>+24(SB), X12
	VXORPD Y11, Y11, Y11

loop:
	VCVTPS2PD (SI), Y0
	VMAXPD Y11, Y0, Y0
	VMINPD Y13, Y0, Y0
	VMULPD Y14, Y0, Y0
	VADDPD Y15, Y0, Y0
	VCVTTPD2DQY Y0, X0
	VPSUBD X12, X0, X0
	VPSLLD X10, X0, X0
	VPOR (BX), X0, X0
	VMOVDQU X0, (BX)
	ADDQ $16, SI
	ADDQ $16, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
