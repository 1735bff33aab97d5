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

// TIMES adds a vector at DI times another one.
#define TIMES(offset, value, sum, spare) \
	VMULPD offset(DI), value, spare \
	VADDPD spare, sum, sum

// FACTOR is a factor of blending, whose terms are at an offset from DI.
#define FACTOR(offset, to, spare) \
	VMULPD (offset+blendTerms_source)(DI), Y0, to \
	TIMES((offset+blendTerms_sourceAlpha), Y1, to, spare) \
	TIMES((offset+blendTerms_there), Y2, to, spare) \
	TIMES((offset+blendTerms_thereAlpha), Y3, to, spare) \
	VADDPD (offset+blendTerms_constant)(DI), to, to

// func blendAVX2(bytes *byte, group *groupTexel, n int, p *blendPlan)
TEXT ·blendAVX2(SB), NOSPLIT, $0-32
	MOVQ bytes+0(FP), BX
	MOVQ group+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ p+24(FP), DI
	MOVQ (blendPlan_words+0)(DI), R8
	MOVQ (blendPlan_words+8)(DI), R9
	MOVQ (blendPlan_words+16)(DI), R10
	MOVQ (blendPlan_words+24)(DI), R11
	MOVL blendPlan_mask(DI), R12
	VBROADCASTSD numbers<>+0(SB), Y13
	VBROADCASTSD numbers<>+8(SB), Y14
	VBROADCASTSD numbers<>+16(SB), Y15
	VPBROADCASTD numbers<>+24(SB), X12
	VXORPD Y11, Y11, Y11
	VMOVDQU blendPlan_take(DI), X10
	VMOVDQU blendPlan_put(DI), X9

loop:
	MOVQ groupTexel_lane(SI), AX
	MOVQ groupTexel_at(SI), DX
	VMOVSS (R8)(AX*4), X0
	VINSERTPS $0x10, (R9)(AX*4), X0, X0
	VINSERTPS $0x20, (R10)(AX*4), X0, X0
	VINSERTPS $0x30, (R11)(AX*4), X0, X0
	VCVTPS2PD X0, Y0
	VMAXPD Y11, Y0, Y0
	VMINPD Y13, Y0, Y0
	VPERMPD $0xff, Y0, Y1
	MOVL (BX)(DX*1), R13
	VMOVD R13, X2
	VPSHUFB X10, X2, X2
	VCVTDQ2PD X2, Y2
	VDIVPD Y14, Y2, Y2
	VPERMPD $0xff, Y2, Y3
	FACTOR(blendPlan_from, Y4, Y5)
	FACTOR(blendPlan_to, Y6, Y7)
	VMULPD Y0, Y4, Y4
	VMULPD Y2, Y6, Y6
	VADDPD Y6, Y4, Y4
	VMAXPD Y11, Y4, Y4
	VMINPD Y13, Y4, Y4
	VMULPD Y14, Y4, Y4
	VADDPD Y15, Y4, Y4
	VCVTTPD2DQY Y4, X4
	VPSUBD X12, X4, X4
	VPSHUFB X9, X4, X4
	VMOVD X4, AX
	XORL R13, AX
	ANDL R12, AX
	XORL R13, AX
	MOVL AX, (BX)(DX*1)
	ADDQ $groupTexel__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
