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

// The first and the second words of two quads, x and y, for four pixels each.
DATA firstWords<>+0(SB)/8, $0
DATA firstWords<>+8(SB)/8, $0
DATA firstWords<>+16(SB)/8, $0x0000000400000004
DATA firstWords<>+24(SB)/8, $0x0000000400000004
GLOBL firstWords<>(SB), RODATA|NOPTR, $32

DATA secondWords<>+0(SB)/8, $0x0000000100000001
DATA secondWords<>+8(SB)/8, $0x0000000100000001
DATA secondWords<>+16(SB)/8, $0x0000000500000005
DATA secondWords<>+24(SB)/8, $0x0000000500000005
GLOBL secondWords<>(SB), RODATA|NOPTR, $32

// How a quad differs from the one to its left: x is its first word.
DATA besideQuad<>+0(SB)/8, $2
DATA besideQuad<>+8(SB)/8, $0
DATA besideQuad<>+16(SB)/8, $0
DATA besideQuad<>+24(SB)/8, $0
GLOBL besideQuad<>(SB), RODATA|NOPTR, $32

// func rowAVX2(quads *quad, n int)
TEXT ·rowAVX2(SB), NOSPLIT, $0-16
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVDQU besideQuad<>(SB), Y1
	VMOVDQU (SI), Y0

loop:
	VMOVDQU Y0, (SI)
	VPADDD Y1, Y0, Y0
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func testedAVX2(quads, first *quad, covers, raws *[4]uint16, n int) int
TEXT ·testedAVX2(SB), NOSPLIT, $0-48
	MOVQ quads+0(FP), SI
	MOVQ first+8(FP), DI
	MOVQ covers+16(FP), R8
	MOVQ raws+24(FP), R9
	MOVQ n+32(FP), CX
	VMOVDQU besideQuad<>(SB), X1
	VMOVDQU (DI), X0
	MOVQ SI, BX

loop:
	MOVQ (R8), AX
	MOVQ (R9), DX
	VMOVDQU X0, (BX)
	MOVQ AX, quad_cover(BX)
	MOVQ DX, quad_raw(BX)
	VPADDD X1, X0, X0
	XORL R10, R10
	NEGQ AX // the carry says that it isn't zero
	ADCQ $0, R10
	SHLQ $5, R10
	ADDQ R10, BX
	ADDQ $8, R8
	ADDQ $8, R9
	DECQ CX
	JNZ loop
	SUBQ SI, BX
	SHRQ $5, BX
	MOVQ BX, ret+40(FP)
	RET

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
#define PLANE8(offset, to) \
	VMULPD.BCST (offset+plane_x)(AX), Z0, to \
	VMULPD.BCST (offset+plane_y)(AX), Z1, Z3 \
	VADDPD Z3, to, to \
	VADDPD.BCST (offset+plane_c)(AX), to, to

// AXIS8 has how far the pixels of the two quads in Y2 lie from the origin along an axis.
#define AXIS8(field, centers, origin, to) \
	VPERMD Y2, field, Y3 \
	VCVTDQ2PD Y3, to \
	VADDPD centers, to, to \
	VSUBPD.BCST origin(AX), to, to

// WEIGHTS8 has the weights of the second and the third vertex for two quads. Where 1/w is the same everywhere, w is in
// Z13.
#define WEIGHTS8(at, second, third, flat) \
	VMOVDQU at(SI), X2 \
	VINSERTI128 $1, (at+quad__size)(SI), Y2, Y2 \
	AXIS8(Y10, Z14, prim_x0, Z0) \
	AXIS8(Y11, Z15, prim_y0, Z1) \
	PLANE8(prim_b, second) \
	PLANE8((prim_b+plane__size), third) \
	VMOVAPD Z13, Z2 \
	TESTQ R11, R11 \
	JZ flat \
	PLANE8(prim_q, Z2) \
	VDIVPD Z2, Z12, Z2 \
flat: \
	VMULPD Z2, second, second \
	VMULPD Z2, third, third

// MADE8 writes an input of two quads.
#define MADE8(second, third, to) \
	VMULPD Z0, second, Z3 \
	VMULPD Z1, third, Z8 \
	VADDPD Z8, Z3, Z3 \
	VADDPD Z3, Z2, Z3 \
	VCVTPD2PS Z3, Y3 \
	VMOVUPS Y3, to

// ATTRIBUTE is that of the input at R12, which goes to BX.
#define ATTRIBUTE \
	MOVQ interpolated_attribute(R12), DX \
	MOVQ interpolated_dst(R12), BX \
	VBROADCASTSD (DX), Z2 \
	VBROADCASTSD 8(DX), Z0 \
	VBROADCASTSD 16(DX), Z1

// func interpolateAVX512(quads *quad, n int, p *prim, list *interpolated, count int)
TEXT ·interpolateAVX512(SB), NOSPLIT, $0-40
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ p+16(FP), AX
	MOVQ list+24(FP), R9
	MOVQ count+32(FP), R10
	XORL R8, R8
	VMOVDQU firstWords<>(SB), Y10
	VMOVDQU secondWords<>(SB), Y11
	VBROADCASTSD numbers<>(SB), Z12
	VBROADCASTF64X4 columns<>(SB), Z14
	VBROADCASTF64X4 lines<>(SB), Z15
	VDIVPD.BCST (prim_q+plane_c)(AX), Z12, Z13
	MOVQ (prim_q+plane_x)(AX), R11
	ORQ (prim_q+plane_y)(AX), R11
	SHLQ $1, R11 // none, if both slopes are zeros of any sign

loop:
	CMPQ CX, $4
	JB two
	WEIGHTS8(0, Z4, Z6, flat0)
	WEIGHTS8((2*quad__size), Z5, Z7, flat1)
	MOVQ R9, R12
	MOVQ R10, R13

four:
	ATTRIBUTE
	MADE8(Z4, Z6, (BX)(R8*1))
	MADE8(Z5, Z7, 32(BX)(R8*1))
	ADDQ $interpolated__size, R12
	DECQ R13
	JNZ four
	ADDQ $64, R8
	ADDQ $(4*quad__size), SI
	SUBQ $4, CX
	JMP loop

two:
	TESTQ CX, CX
	JZ end
	WEIGHTS8(0, Z4, Z6, flat2)
	MOVQ R9, R12
	MOVQ R10, R13

last:
	ATTRIBUTE
	MADE8(Z4, Z6, (BX)(R8*1))
	ADDQ $interpolated__size, R12
	DECQ R13
	JNZ last

end:
	VZEROUPPER
	RET

// PLANE4 is PLANE.
#define PLANE4(offset, to, spare) \
	VMULPD.BCST (offset+plane_x)(AX), Y0, to \
	VMULPD.BCST (offset+plane_y)(AX), Y1, spare \
	VADDPD spare, to, to \
	VADDPD.BCST (offset+plane_c)(AX), to, to

// func interpolateMixedAVX512(quads *quad, n int, prims *prim, pitch int, list *interpolated, count int)
TEXT ·interpolateMixedAVX512(SB), NOSPLIT, $0-48
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ prims+16(FP), DI
	MOVQ list+32(FP), R9
	XORL R8, R8
	VMOVDQU firstWords<>(SB), Y10
	VMOVDQU secondWords<>(SB), Y11
	VBROADCASTSD numbers<>(SB), Z12
	VBROADCASTF64X4 columns<>(SB), Z14
	VBROADCASTF64X4 lines<>(SB), Z15
	MOVL $1, R11 // 1/w differs

loop:
	MOVLQSX quad_prim(SI), AX
	MOVQ AX, DX
	IMULQ pitch+24(FP), DX
	MOVQ R9, R12
	MOVQ count+40(FP), R13
	CMPQ CX, $2
	JB single
	CMPL AX, (quad__size+quad_prim)(SI)
	JNE single
	IMULQ $prim__size, AX
	ADDQ DI, AX
	WEIGHTS8(0, Z4, Z6, weighed)

pair:
	MOVQ interpolated_attribute(R12), AX
	MOVQ interpolated_dst(R12), BX
	ADDQ DX, AX
	VMULPD.BCST 8(AX), Z4, Z0
	VMULPD.BCST 16(AX), Z6, Z1
	VADDPD Z1, Z0, Z0
	VADDPD.BCST (AX), Z0, Z0
	VCVTPD2PS Z0, Y0
	VMOVUPS Y0, (BX)(R8*1)
	ADDQ $interpolated__size, R12
	DECQ R13
	JNZ pair
	ADDQ $32, R8
	ADDQ $(2*quad__size), SI
	SUBQ $2, CX
	JNZ loop
	VZEROUPPER
	RET

single:
	IMULQ $prim__size, AX
	ADDQ DI, AX
	VPBROADCASTD quad_x(SI), X0
	VCVTDQ2PD X0, Y0
	VPBROADCASTD quad_y(SI), X1
	VCVTDQ2PD X1, Y1
	VADDPD Y14, Y0, Y0
	VSUBPD.BCST prim_x0(AX), Y0, Y0
	VADDPD Y15, Y1, Y1
	VSUBPD.BCST prim_y0(AX), Y1, Y1
	PLANE4(prim_q, Y2, Y3)
	VDIVPD Y2, Y12, Y2
	PLANE4(prim_b, Y4, Y5)
	PLANE4((prim_b+plane__size), Y6, Y7)
	VMULPD Y2, Y4, Y4
	VMULPD Y2, Y6, Y6

input:
	MOVQ interpolated_attribute(R12), AX
	MOVQ interpolated_dst(R12), BX
	ADDQ DX, AX
	VMULPD.BCST 8(AX), Y4, Y0
	VMULPD.BCST 16(AX), Y6, Y1
	VADDPD Y1, Y0, Y0
	VADDPD.BCST (AX), Y0, Y0
	VCVTPD2PSY Y0, X0
	VMOVUPS X0, (BX)(R8*1)
	ADDQ $interpolated__size, R12
	DECQ R13
	JNZ input
	ADDQ $16, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func lanesAVX512(quads *quad, n int, lanes *uint8) int
TEXT ·lanesAVX512(SB), NOSPLIT, $0-32
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ lanes+16(FP), BX
	MOVL $0x0f000f00, R8 // the covers among the words of two quads
	XORL DX, DX
	SUBQ $2, CX
	JB last

loop:
	VMOVDQU64 (SI), Z0
	VPTESTMW Z0, Z0, K1
	KMOVD K1, AX
	PEXTL R8, AX, AX
	MOVB AX, (BX)
	POPCNTL AX, AX
	ADDQ AX, DX
	INCQ BX
	ADDQ $(2*quad__size), SI
	SUBQ $2, CX
	JAE loop

last:
	ADDQ $2, CX
	JZ end
	VMOVDQU (SI), Y0
	VPTESTMW Y0, Y0, K1
	KMOVD K1, AX
	PEXTL R8, AX, AX
	MOVB AX, (BX)
	POPCNTL AX, AX
	ADDQ AX, DX

end:
	MOVQ DX, ret+24(FP)
	VZEROUPPER
	RET

// CENTERS is where the pixels of a quad are.
#define CENTERS \
	VXORPD X0, X0, X0 \
	VCVTSI2SDL quad_x(SI), X0, X0 \
	VBROADCASTSD X0, Y0 \
	VADDPD Y14, Y0, Y0 \
	VXORPD X1, X1, X1 \
	VCVTSI2SDL quad_y(SI), X1, X1 \
	VBROADCASTSD X1, Y1 \
	VADDPD Y15, Y1, Y1

// FROM_ORIGIN makes of that how far they are from the origin of the primitive at AX.
#define FROM_ORIGIN \
	VBROADCASTSD prim_x0(AX), Y2 \
	VSUBPD Y2, Y0, Y0 \
	VBROADCASTSD prim_y0(AX), Y3 \
	VSUBPD Y3, Y1, Y1

// AWAY is both.
#define AWAY \
	CENTERS \
	FROM_ORIGIN

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
	AWAY
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

// func weighLinearAVX2(quads *quad, n int, prims *prim, b1, b2 *float64)
TEXT ·weighLinearAVX2(SB), NOSPLIT, $0-40
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ prims+16(FP), DI
	MOVQ b1+24(FP), R8
	MOVQ b2+32(FP), R9
	VMOVUPD columns<>(SB), Y14
	VMOVUPD lines<>(SB), Y15

loop:
	MOVLQSX quad_prim(SI), AX
	IMULQ $prim__size, AX
	ADDQ DI, AX
	AWAY
	PLANE(prim_l, Y4, Y5)
	VMOVUPD Y4, (R8)
	PLANE((prim_l+plane__size), Y6, Y7)
	VMOVUPD Y6, (R9)
	ADDQ $quad__size, SI
	ADDQ $32, R8
	ADDQ $32, R9
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func flatAVX2(dst *uint32, quads *quad, n int, flats *uint32, pitch int)
TEXT ·flatAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), BX
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ flats+24(FP), DI
	MOVQ pitch+32(FP), DX

loop:
	MOVLQSX quad_prim(SI), AX
	IMULQ DX, AX
	VPBROADCASTD (DI)(AX*1), X0
	VMOVDQU X0, (BX)
	ADDQ $quad__size, SI
	ADDQ $16, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func fragCoordAVX2(dst *uint32, quads *quad, n int, prims *prim, component int)
TEXT ·fragCoordAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), BX
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ prims+24(FP), DI
	MOVQ component+32(FP), DX
	VMOVUPD columns<>(SB), Y14
	VMOVUPD lines<>(SB), Y15
	MOVQ $prim_z, R8
	MOVQ $prim_q, AX
	CMPQ DX, $3
	CMOVQEQ AX, R8 // the plane

loop:
	CENTERS
	CMPQ DX, $1
	JEQ line
	JB next
	MOVLQSX quad_prim(SI), AX
	IMULQ $prim__size, AX
	ADDQ DI, AX
	FROM_ORIGIN
	ADDQ R8, AX
	PLANE(0, Y2, Y3)
	VMOVAPD Y2, Y0

next:
	VCVTPD2PSY Y0, X0
	VMOVUPS X0, (BX)
	ADDQ $quad__size, SI
	ADDQ $16, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

line:
	VMOVAPD Y1, Y0
	JMP next

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
