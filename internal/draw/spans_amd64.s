#include "go_asm.h"
#include "textflag.h"

// The next row of a side: its values in Y4 and the rest in Y5. Y6 and Y7 are what both become more by, Y8 is the scale,
// and Y9 the scale less 1.
#define NEXT \
	VPADDQ Y7, Y5, Y5 \
	VPCMPGTQ Y9, Y5, Y10 \
	VPADDQ Y6, Y4, Y4 \
	VPSUBQ Y10, Y4, Y4 \
	VPAND Y8, Y10, Y10 \
	VPSUBQ Y10, Y5, Y5

// LEFT has spans begin where a side is, RIGHT has them end there, and LEVEL has none below it.
#define LEFT(lo, hi) \
	VPXOR Y11, Y11, Y11 \
	VPSUBQ Y4, Y11, Y10 \
	VPCMPGTQ lo, Y10, Y11 \
	VBLENDVPD Y11, Y10, lo, lo

#define RIGHT(lo, hi) \
	VPCMPEQD Y11, Y11, Y11 \
	VPSUBQ Y11, Y4, Y10 \
	VPCMPGTQ Y10, hi, Y11 \
	VBLENDVPD Y11, Y10, hi, hi

#define LEVEL(lo, hi) \
	VBLENDVPD Y4, lo, hi, hi

// SIDES does that for both rows, for sides up to the last one; R8 counts them, and BX is where their values are.
#define SIDES(last, how, again, done) \
again: \
	CMPQ R8, last(DI) \
	JGE done \
	VMOVDQU spanPlan_at(BX), Y4 \
	VMOVDQU spanPlan_rest(BX), Y5 \
	VPBROADCASTQ spanPlan_step(DI)(R8*8), Y6 \
	VPBROADCASTQ spanPlan_stepRest(DI)(R8*8), Y7 \
	VPBROADCASTQ spanPlan_scale(DI)(R8*8), Y8 \
	VPCMPEQD Y10, Y10, Y10 \
	VPADDQ Y10, Y8, Y9 \
	how(Y0, Y1) \
	NEXT \
	how(Y2, Y3) \
	NEXT \
	VMOVDQU Y4, spanPlan_at(BX) \
	VMOVDQU Y5, spanPlan_rest(BX) \
	INCQ R8 \
	ADDQ $128, BX \
	JMP again \
done:

// NARROW stores four words of 64 bits, the lower ones of which are at low, as words of 32 bits.
#define NARROW(v, low, to) \
	VEXTRACTI128 $1, v, X5 \
	VSHUFPS $0x88, X5, low, X5 \
	VMOVDQU X5, to

// ROW ends the spans of a row, which Y6 has: those of rows that are outside, and empty ones, begin and end at the left.
// Y12 is the least beginning, Y13 the greatest end, Y14 and Y15 the greatest beginning and the least end.
#define ROW(lo, hi, low, high, offset) \
	VMOVDQU spanPlan_tops(DI)(SI*8), Y7 \
	VPCMPGTQ Y6, Y7, Y7 \
	VMOVDQU spanPlan_bottoms(DI)(SI*8), Y8 \
	VPCMPGTQ Y6, Y8, Y8 \
	VPANDN Y8, Y7, Y8 \
	VPCMPGTQ lo, hi, Y7 \
	VPAND Y7, Y8, Y8 \
	VPBROADCASTQ spanPlan_left(DI), Y7 \
	VBLENDVPD Y8, lo, Y7, lo \
	VBLENDVPD Y8, hi, Y7, hi \
	VPCMPGTQ Y14, lo, Y7 \
	VBLENDVPD Y7, lo, Y14, Y14 \
	VPCMPGTQ hi, Y15, Y7 \
	VBLENDVPD Y7, hi, Y15, Y15 \
	VPCMPGTQ Y13, hi, Y7 \
	VBLENDVPD Y7, hi, Y13, Y13 \
	VPBROADCASTQ spanPlan_right(DI), Y7 \
	VBLENDVPD Y8, lo, Y7, Y8 \
	VPCMPGTQ Y8, Y12, Y7 \
	VBLENDVPD Y7, Y8, Y12, Y12 \
	NARROW(lo, low, (spanPlan_lo+offset)(DI)(SI*4)) \
	NARROW(hi, high, (spanPlan_hi+offset)(DI)(SI*4))

// LEAST stores the least of four words, MOST the greatest one.
#define LEAST(v, low, to) \
	VEXTRACTI128 $1, v, X0 \
	VPCMPGTQ X0, low, X1 \
	VBLENDVPD X1, X0, low, low \
	VPSHUFD $0x4e, low, X0 \
	VPCMPGTQ X0, low, X1 \
	VBLENDVPD X1, X0, low, low \
	VMOVQ low, to

#define MOST(v, low, to) \
	VEXTRACTI128 $1, v, X0 \
	VPCMPGTQ low, X0, X1 \
	VBLENDVPD X1, X0, low, low \
	VPSHUFD $0x4e, low, X0 \
	VPCMPGTQ low, X0, X1 \
	VBLENDVPD X1, X0, low, low \
	VMOVQ low, to

// func spansAVX2(p *spanPlan)
TEXT ·spansAVX2(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DI
	VPBROADCASTQ spanPlan_right(DI), Y12
	VPBROADCASTQ spanPlan_left(DI), Y13
	VMOVDQA Y13, Y14
	VMOVDQA Y12, Y15
	XORL SI, SI // the sample

four:
	VMOVDQU spanPlan_begins(DI)(SI*8), Y0
	VMOVDQU spanPlan_ends(DI)(SI*8), Y1
	VMOVDQA Y0, Y2
	VMOVDQA Y1, Y3
	LEAQ (DI)(SI*8), BX
	XORL R8, R8
	SIDES(spanPlan_lefts, LEFT, left, rights)
	SIDES(spanPlan_steep, RIGHT, right, levels)
	SIDES(spanPlan_sides, LEVEL, level, ends)
	VPBROADCASTQ spanPlan_y(DI), Y6
	ROW(Y0, Y1, X0, X1, 0)
	VPBROADCASTQ spanPlan_y(DI), Y6
	VPCMPEQD Y7, Y7, Y7
	VPSUBQ Y7, Y6, Y6
	ROW(Y2, Y3, X2, X3, 64)
	ADDQ $4, SI
	CMPQ SI, spanPlan_samples(DI)
	JLT four
	LEAST(Y12, X12, spanPlan_from(DI))
	MOST(Y13, X13, spanPlan_to(DI))
	MOST(Y14, X14, spanPlan_full0(DI))
	LEAST(Y15, X15, spanPlan_full1(DI))
	VZEROUPPER
	RET

// The columns of a pixel's four samples and of those of the next one.
DATA spanColumns<>+0(SB)/8, $0x0000000000000000
DATA spanColumns<>+8(SB)/8, $0x0000000000000000
DATA spanColumns<>+16(SB)/8, $0x0000000100000001
DATA spanColumns<>+24(SB)/8, $0x0000000100000001
GLOBL spanColumns<>(SB), RODATA|NOPTR, $32

// WITHIN leaves in to which of eight words x are in spans.
#define WITHIN(x, lo, hi, to) \
	VPCMPGTD x, lo, Y6 \
	VPCMPGTD x, hi, Y7 \
	VPANDN Y7, Y6, Y6 \
	VMOVMSKPS Y6, to

// func coversAVX2(p *spanPlan, covers *[4]uint16, x, n int)
TEXT ·coversAVX2(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), DI
	MOVQ covers+8(FP), SI
	MOVQ x+16(FP), AX
	MOVQ n+24(FP), CX
	MOVQ spanPlan_bits(DI), R10
	MOVQ AX, X4
	VPBROADCASTD X4, Y4
	VPCMPEQD Y5, Y5, Y5
	VPSRLD $31, Y5, Y9 // 1
	VPADDD Y9, Y9, Y5
	CMPQ spanPlan_samples(DI), $4
	JGT many
	VPADDD spanColumns<>(SB), Y4, Y4
	VBROADCASTI128 spanPlan_lo(DI), Y0
	VBROADCASTI128 spanPlan_hi(DI), Y1
	VBROADCASTI128 (spanPlan_lo+64)(DI), Y2
	VBROADCASTI128 (spanPlan_hi+64)(DI), Y3

loop:
	WITHIN(Y4, Y0, Y1, AX)
	WITHIN(Y4, Y2, Y3, BX)
	SHLQ $32, BX
	ORQ BX, AX
	MOVQ AX, BX
	SHLQ $12, BX
	ORQ BX, AX
	ANDQ R10, AX
	MOVQ AX, (SI)
	VPADDD Y5, Y4, Y4
	ADDQ $8, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

many: // eight samples, then eight more
	XORL R9, R9
	VMOVDQA Y4, Y8

eight:
	VMOVDQU spanPlan_lo(DI)(R9*4), Y0
	VMOVDQU spanPlan_hi(DI)(R9*4), Y1
	VMOVDQU (spanPlan_lo+64)(DI)(R9*4), Y2
	VMOVDQU (spanPlan_hi+64)(DI)(R9*4), Y3
	VMOVDQA Y8, Y4
	MOVQ covers+8(FP), SI
	MOVQ n+24(FP), DX

quad:
	WITHIN(Y4, Y0, Y1, AX)
	WITHIN(Y4, Y2, Y3, BX)
	VPADDD Y9, Y4, Y10
	SHLQ $32, BX
	ORQ BX, AX
	WITHIN(Y10, Y0, Y1, BX)
	SHLQ $16, BX
	ORQ BX, AX
	WITHIN(Y10, Y2, Y3, BX)
	SHLQ $48, BX
	ORQ BX, AX
	TESTQ R9, R9
	JZ first
	SHLQ $8, AX
	ORQ (SI), AX
	JMP bits

first:
	CMPQ spanPlan_samples(DI), $8
	JGT put

bits:
	ANDQ R10, AX

put:
	MOVQ AX, (SI)
	VPADDD Y5, Y4, Y4
	ADDQ $8, SI
	DECQ DX
	JNZ quad
	ADDQ $8, R9
	CMPQ R9, spanPlan_samples(DI)
	JLT eight
	VZEROUPPER
	RET
