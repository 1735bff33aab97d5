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

// How a quad differs from the one to its left: x is its first word.
DATA ·besideQuad+0(SB)/8, $2
DATA ·besideQuad+8(SB)/8, $0
DATA ·besideQuad+16(SB)/8, $0
DATA ·besideQuad+24(SB)/8, $0
GLOBL ·besideQuad(SB), RODATA|NOPTR, $32

// func rowAVX2(quads *quad, n int)
TEXT ·rowAVX2(SB), NOSPLIT, $0-16
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVDQU ·besideQuad(SB), Y1
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
	VMOVDQU ·besideQuad(SB), X1
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

// CENTERS is where the pixels of a quad are.
#define CENTERS \
	VPBROADCASTD quad_x(SI), X0 \
	VCVTDQ2PD X0, Y0 \
	VADDPD Y14, Y0, Y0 \
	VPBROADCASTD quad_y(SI), X1 \
	VCVTDQ2PD X1, Y1 \
	VADDPD Y15, Y1, Y1

// FUSED is PLANE with products that aren't rounded by themselves, as plane.fused has it.
#define FUSED(offset, to, spare) \
	VBROADCASTSD (offset+plane_c)(AX), to \
	VBROADCASTSD (offset+plane_y)(AX), spare \
	VFMADD231PD Y1, spare, to \
	VBROADCASTSD (offset+plane_x)(AX), spare \
	VFMADD231PD Y0, spare, to

// AXIS8 has a coordinate of the pixels of two quads, offset bytes from the first one.
#define AXIS8(offset, centers, to) \
	VPBROADCASTD offset(SI), Y3 \
	VPBROADCASTD (offset+quad__size)(SI), K1, Y3 \
	VCVTDQ2PD Y3, to \
	VADDPD centers, to, to

// LINES8 has Z27, Z28 and Z29 be what planes are at the lines of two quads, without what they grow by x. They stay
// where these lines are those at R14.
#define LINES8(at, differ, known) \
	CMPL R14, (at+quad_y)(SI) \
	JNE differ \
	CMPL R14, (at+quad__size+quad_y)(SI) \
	JEQ known \
differ: \
	AXIS8((at+quad_y), Z15, Z1) \
	VMOVAPD Z18, Z27 \
	VFMADD231PD Z17, Z1, Z27 \
	VMOVAPD Z21, Z28 \
	VFMADD231PD Z20, Z1, Z28 \
	VMOVAPD Z24, Z29 \
	VFMADD231PD Z23, Z1, Z29 \
	MOVL (at+quad_y)(SI), R14 \
	CMPL R14, (at+quad__size+quad_y)(SI) \
	JEQ known \
	MOVL $0x80000000, R14 /* no line */ \
known:

// WEIGHTS8 has the weights of the second and the third vertex for two quads.
#define WEIGHTS8(at, second, third, differ, known, affine) \
	LINES8(at, differ, known) \
	AXIS8((at+quad_x), Z14, Z0) \
	VMOVAPD Z27, second \
	VFMADD231PD Z16, Z0, second \
	VMOVAPD Z28, third \
	VFMADD231PD Z19, Z0, third \
	TESTL R11, R11 \
	JNE affine \
	VMOVAPD Z29, Z2 \
	VFMADD231PD Z22, Z0, Z2 \
	VDIVPD Z2, Z12, Z2 \
	VMULPD Z2, second, second \
	VMULPD Z2, third, third \
affine:

// MADE8 writes an input of two quads.
#define MADE8(second, third, to) \
	VMOVAPD Z2, Z3 \
	VFMADD231PD Z1, third, Z3 \
	VFMADD231PD Z0, second, Z3 \
	VCVTPD2PS Z3, Y3 \
	VMOVUPS Y3, to

// ATTRIBUTE is that of the input at R12, which goes to BX.
#define ATTRIBUTE \
	MOVQ interpolated_attribute(R12), DX \
	MOVQ interpolated_dst(R12), BX \
	VBROADCASTSD (DX), Z2 \
	VBROADCASTSD 8(DX), Z0 \
	VBROADCASTSD 16(DX), Z1

// SECONDQUAD is the lanes of the second one of two quads.
#define SECONDQUAD \
	MOVL $0xf0, BX \
	KMOVW BX, K1

// func interpolateAVX512(quads *quad, n int, p *prim, linear bool, list *interpolated, count int)
TEXT ·interpolateAVX512(SB), NOSPLIT, $0-48
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ p+16(FP), AX
	MOVBLZX linear+24(FP), R11
	MOVQ list+32(FP), R9
	MOVQ count+40(FP), R10
	XORL R8, R8
	SECONDQUAD
	LEAQ prim_b(AX), DI
	LEAQ prim_l(AX), BX
	TESTL R11, R11
	CMOVQNE BX, DI
	MOVBLZX prim_affine(AX), BX
	ORL BX, R11 // weights are planes
	VBROADCASTSD plane_x(DI), Z16
	VBROADCASTSD plane_y(DI), Z17
	VBROADCASTSD plane_c(DI), Z18
	VBROADCASTSD (plane__size+plane_x)(DI), Z19
	VBROADCASTSD (plane__size+plane_y)(DI), Z20
	VBROADCASTSD (plane__size+plane_c)(DI), Z21
	VBROADCASTSD (prim_q+plane_x)(AX), Z22
	VBROADCASTSD (prim_q+plane_y)(AX), Z23
	VBROADCASTSD (prim_q+plane_c)(AX), Z24
	VBROADCASTSD numbers<>(SB), Z12
	VBROADCASTF64X4 columns<>(SB), Z14
	VSUBPD.BCST prim_x0(AX), Z14, Z14 // exact, as where planes begin is
	VBROADCASTF64X4 lines<>(SB), Z15
	VSUBPD.BCST prim_y0(AX), Z15, Z15
	MOVL $0x80000000, R14

loop:
	CMPQ CX, $4
	JB two
	WEIGHTS8(0, Z4, Z6, differ0, known0, affine0)
	WEIGHTS8((2*quad__size), Z5, Z7, differ1, known1, affine1)
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
	WEIGHTS8(0, Z4, Z6, differ2, known2, affine2)
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

// FUSEDAT is FUSED of a plane at some bytes from a register, in x and y, which may have eight numbers each.
#define FUSEDAT(from, offset, x, y, to) \
	VBROADCASTSD (offset+plane_c)(from), to \
	VFMADD231PD.BCST (offset+plane_y)(from), y, to \
	VFMADD231PD.BCST (offset+plane_x)(from), x, to

// MIXEDWEIGHTS has the weights of the second and third vertex at x and y.
#define MIXEDWEIGHTS(x, y, one, spare, second, third, affine) \
	LEAQ (AX)(R10*1), DI \
	FUSEDAT(DI, 0, x, y, second) \
	FUSEDAT(DI, plane__size, x, y, third) \
	MOVBLZX prim_affine(AX), BX \
	ORL R11, BX \
	JNE affine \
	LEAQ prim_q(AX), DI \
	FUSEDAT(DI, 0, x, y, spare) \
	VDIVPD spare, one, spare \
	VMULPD spare, second, second \
	VMULPD spare, third, third \
affine:

// func interpolateMixedAVX512(quads *quad, n int, prims *prim, linear bool, pitch int, list *interpolated, count int)
TEXT ·interpolateMixedAVX512(SB), NOSPLIT, $0-56
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVBLZX linear+24(FP), R11
	MOVQ list+40(FP), R9
	XORL R8, R8
	SECONDQUAD
	MOVQ $prim_b, R10
	MOVQ $prim_l, BX
	TESTL R11, R11
	CMOVQNE BX, R10 // where a primitive has its planes
	VBROADCASTSD numbers<>(SB), Z12
	VBROADCASTF64X4 columns<>(SB), Z14
	VBROADCASTF64X4 lines<>(SB), Z15

loop:
	MOVLQSX quad_prim(SI), AX
	MOVQ AX, DX
	IMULQ pitch+32(FP), DX
	MOVQ R9, R12
	MOVQ count+48(FP), R13
	CMPQ CX, $2
	JB single
	CMPL AX, (quad__size+quad_prim)(SI)
	JNE single
	IMULQ $prim__size, AX
	ADDQ prims+16(FP), AX
	AXIS8(quad_x, Z14, Z0)
	VSUBPD.BCST prim_x0(AX), Z0, Z0
	AXIS8(quad_y, Z15, Z1)
	VSUBPD.BCST prim_y0(AX), Z1, Z1
	MIXEDWEIGHTS(Z0, Z1, Z12, Z2, Z4, Z6, affine2)

pair:
	MOVQ interpolated_attribute(R12), AX
	MOVQ interpolated_dst(R12), BX
	ADDQ DX, AX
	VBROADCASTSD (AX), Z0
	VFMADD231PD.BCST 16(AX), Z6, Z0
	VFMADD231PD.BCST 8(AX), Z4, Z0
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
	ADDQ prims+16(FP), AX
	CENTERS
	VSUBPD.BCST prim_x0(AX), Y0, Y0
	VSUBPD.BCST prim_y0(AX), Y1, Y1
	MIXEDWEIGHTS(Y0, Y1, Y12, Y2, Y4, Y6, affine1)

input:
	MOVQ interpolated_attribute(R12), AX
	MOVQ interpolated_dst(R12), BX
	ADDQ DX, AX
	VBROADCASTSD (AX), Y0
	VFMADD231PD.BCST 16(AX), Y6, Y0
	VFMADD231PD.BCST 8(AX), Y4, Y0
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

// PERSPECTIVE has the weights of the second and the third vertex of the primitive at AX, in Y4 and Y6.
#define PERSPECTIVE(affine) \
	FUSED(prim_b, Y4, Y5) \
	FUSED((prim_b+plane__size), Y6, Y7) \
	CMPB prim_affine(AX), $0 \
	JNE affine \
	FUSED(prim_q, Y2, Y3) \
	VDIVPD Y2, Y13, Y2 \
	VMULPD Y2, Y4, Y4 \
	VMULPD Y2, Y6, Y6 \
affine:

// func weighAtAVX2(quads *quad, n int, prims *prim, linear bool, x, y, b1, b2 *float64)
TEXT ·weighAtAVX2(SB), NOSPLIT, $0-64
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ prims+16(FP), DI
	MOVBLZX linear+24(FP), DX
	MOVQ x+32(FP), R10
	MOVQ y+40(FP), R11
	MOVQ b1+48(FP), R8
	MOVQ b2+56(FP), R9
	VBROADCASTSD numbers<>(SB), Y13
	XORL BX, BX

loop:
	MOVLQSX quad_prim(SI), AX
	IMULQ $prim__size, AX
	ADDQ DI, AX
	VMOVUPD (R10)(BX*1), Y0
	VMOVUPD (R11)(BX*1), Y1
	FROM_ORIGIN
	TESTL DX, DX
	JNE linear
	PERSPECTIVE(affine)

weighed:
	VMOVUPD Y4, (R8)(BX*1)
	VMOVUPD Y6, (R9)(BX*1)
	ADDQ $quad__size, SI
	ADDQ $32, BX
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

linear:
	FUSED(prim_l, Y4, Y5)
	FUSED((prim_l+plane__size), Y6, Y7)
	JMP weighed

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
	PERSPECTIVE(affine)
	VMOVUPD Y4, (R8)
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
	FUSED(prim_l, Y4, Y5)
	VMOVUPD Y4, (R8)
	FUSED((prim_l+plane__size), Y6, Y7)
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

loop:
	CENTERS
	CMPQ DX, $1
	JEQ line
	JB next
	MOVLQSX quad_prim(SI), AX
	IMULQ $prim__size, AX
	ADDQ DI, AX
	FROM_ORIGIN
	CMPQ DX, $3
	JEQ reciprocal
	PLANE(prim_z, Y2, Y3)
	VMOVAPD Y2, Y0
	JMP next

reciprocal:
	FUSED(prim_q, Y2, Y3)
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

// func fragCoordAVX512(dst *uint32, quads *quad, n int, prims *prim, component int)
TEXT ·fragCoordAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), BX
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ prims+24(FP), DI
	MOVQ component+32(FP), DX
	MOVL $0xf0, AX
	KMOVW AX, K1 // the second quad of two, or of four
	CMPQ DX, $2
	JAE planes
	MOVL $0xf00, AX
	KMOVW AX, K2
	MOVL $0xf000, AX
	KMOVW AX, K3
	VCVTPD2PSY columns<>(SB), X1
	VCVTPD2PSY lines<>(SB), X0
	CMPQ DX, $1
	JNE coordinates
	VMOVAPS X0, X1

coordinates:
	VSHUFF32X4 $0, Z1, Z1, Z1
	LEAQ (SI)(DX*4), SI // x and y follow each other

four:
	CMPQ CX, $4
	JB one
	VPBROADCASTD (SI), Z0
	VPBROADCASTD quad__size(SI), K1, Z0
	VPBROADCASTD (2*quad__size)(SI), K2, Z0
	VPBROADCASTD (3*quad__size)(SI), K3, Z0
	VCVTDQ2PS Z0, Z0
	VADDPS Z1, Z0, Z0 // exact, as there are fewer than 2^23 pixels
	VMOVUPS Z0, (BX)
	ADDQ $(4*quad__size), SI
	ADDQ $64, BX
	SUBQ $4, CX
	JMP four

one:
	TESTQ CX, CX
	JZ end
	VPBROADCASTD (SI), X0
	VCVTDQ2PS X0, X0
	VADDPS X1, X0, X0
	VMOVUPS X0, (BX)
	ADDQ $quad__size, SI
	ADDQ $16, BX
	DECQ CX
	JMP one

planes:
	VBROADCASTF64X4 columns<>(SB), Z14
	VBROADCASTF64X4 lines<>(SB), Z15

loop:
	MOVLQSX quad_prim(SI), AX
	IMUL3Q $prim__size, AX, R8
	LEAQ (DI)(R8*1), R8
	CMPQ CX, $2
	JB single
	CMPL AX, (quad__size+quad_prim)(SI)
	JNE single
	MOVQ R8, AX
	AXIS8(quad_x, Z14, Z0)
	VSUBPD.BCST prim_x0(AX), Z0, Z0
	AXIS8(quad_y, Z15, Z1)
	VSUBPD.BCST prim_y0(AX), Z1, Z1
	CMPQ DX, $3
	JEQ reciprocal2
	VMULPD.BCST (prim_z+plane_x)(AX), Z0, Z2
	VMULPD.BCST (prim_z+plane_y)(AX), Z1, Z3
	VADDPD Z3, Z2, Z2
	VADDPD.BCST (prim_z+plane_c)(AX), Z2, Z2
	JMP pair

reciprocal2:
	LEAQ prim_q(AX), R8
	FUSEDAT(R8, 0, Z0, Z1, Z2)

pair:
	VCVTPD2PS Z2, Y2
	VMOVUPS Y2, (BX)
	ADDQ $(2*quad__size), SI
	ADDQ $32, BX
	SUBQ $2, CX
	JNZ loop
	JMP end

single:
	MOVQ R8, AX
	AWAY
	CMPQ DX, $3
	JEQ reciprocal
	PLANE(prim_z, Y2, Y3)
	JMP made

reciprocal:
	FUSED(prim_q, Y2, Y3)

made:
	VCVTPD2PSY Y2, X2
	VMOVUPS X2, (BX)
	ADDQ $quad__size, SI
	ADDQ $16, BX
	DECQ CX
	JNZ loop

end:
	VZEROUPPER
	RET

// func spreadAVX2(dst *uint32, n int, word uint32)
TEXT ·spreadAVX2(SB), NOSPLIT, $0-20
	MOVQ dst+0(FP), BX
	MOVQ n+8(FP), CX
	MOVL word+16(FP), AX
	VMOVD AX, X0
	VPBROADCASTD X0, Y0
	SUBQ $4, CX
	JB few

loop:
	VMOVDQU Y0, (BX)
	VMOVDQU Y0, 32(BX)
	ADDQ $64, BX
	SUBQ $4, CX
	JAE loop

few:
	ADDQ $4, CX
	JZ end

one:
	VMOVDQU X0, (BX)
	ADDQ $16, BX
	DECQ CX
	JNZ one

end:
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
	VBROADCASTSD (DI)(AX*1), Y0
	VBROADCASTSD 16(DI)(AX*1), Y1
	VFMADD231PD (R9), Y1, Y0
	VBROADCASTSD 8(DI)(AX*1), Y1
	VFMADD231PD (R8), Y1, Y0
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
