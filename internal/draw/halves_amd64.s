#include "go_asm.h"
#include "textflag.h"
#include "colors.h"

// The sign of a float, and a NaN that is quiet.
DATA bits<>+0(SB)/4, $0x80000000
DATA bits<>+4(SB)/4, $0x7fc00000
GLOBL bits<>(SB), RODATA|NOPTR, $8

// HALF makes floats of 16 bits in the lower half. Of a NaN the sign is left, as texel.Codec has it.
#define HALF(v) \
	VCMPPS $3, v, v, X0 \
	VANDPS X10, v, X1 \
	VORPS X11, X1, X1 \
	VBLENDVPS X0, X1, v, v \
	VCVTPS2PH $0, v, v

// TEXELS puts the channels in X4 to X7 together: the pixels above in X2, those below in X3.
#define TEXELS \
	HALF(X4) \
	HALF(X5) \
	HALF(X6) \
	HALF(X7) \
	VPUNPCKLWD X5, X4, X0 \
	VPUNPCKLWD X7, X6, X1 \
	VPUNPCKLDQ X1, X0, X2 \
	VPUNPCKHDQ X1, X0, X3

#define CONSTANTS \
	VBROADCASTSS bits<>+0(SB), X10 \
	VBROADCASTSS bits<>+4(SB), X11 \
	MOVQ $0x0001000100010001, R10

// PIXELS stores the pixels of a quad in X2 and X3 that are covered.
#define PIXELS(second, third, fourth, next) \
	BTQ $0, R9 \
	JCC second \
	VMOVQ X2, (BX) \
second: \
	BTQ $16, R9 \
	JCC third \
	VPEXTRQ $1, X2, 8(BX) \
third: \
	BTQ $32, R9 \
	JCC fourth \
	VMOVQ X3, (DX) \
fourth: \
	BTQ $48, R9 \
	JCC next \
	VPEXTRQ $1, X3, 8(DX)

// func storeHalvesAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·storeHalvesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS

loop:
	COVERAGE
	JZ next
	PLACE
	WORDS(0, X4)
	WORDS(1, X5)
	WORDS(2, X6)
	WORDS(3, X7)
	TEXELS
	CMPQ R9, R10
	JNE some
	VMOVDQU X2, (BX)
	VMOVDQU X3, (DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	RET

some:
	PIXELS(second, third, fourth, next)
	JMP next

#define SOURCE(channel) \
	WORDS(channel, X0) \
	VMOVUPS X0, (64*(const_rowOfSource+channel))(R13)

#define THERE(channel, halves) \
	VCVTPH2PS halves, X0 \
	VMOVUPS X0, (64*(const_rowOfThere+channel))(R13)

// func blendHalvesAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·blendHalvesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS
	VXORPS X10, X10, X10 // no sign of a NaN, as in blending.apply
	VPBROADCASTQ colorPlan_mask(DI), X12

loop:
	COVERAGE
	JZ next
	PLACE
	CMPQ R9, R10
	JNE some
	VMOVDQU (BX), X9
	VMOVDQU (DX), X8

blend:
	SOURCE(0)
	SOURCE(1)
	SOURCE(2)
	SOURCE(3)
	VPUNPCKLWD X8, X9, X0
	VPUNPCKHWD X8, X9, X1
	VPUNPCKLWD X1, X0, X2 // red, green
	VPUNPCKHWD X1, X0, X3 // blue, alpha
	THERE(0, X2)
	THERE(2, X3)
	VPSRLDQ $8, X2, X2
	VPSRLDQ $8, X3, X3
	THERE(1, X2)
	THERE(3, X3)
	FACTORS(again, done)
	BLEND(0, X4)
	BLEND(1, X5)
	BLEND(2, X6)
	BLEND(3, X7)
	TEXELS
	VPBLENDVB X12, X2, X9, X2
	VPBLENDVB X12, X3, X8, X3
	CMPQ R9, R10
	JNE parts
	VMOVDQU X2, (BX)
	VMOVDQU X3, (DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	RET

some:
	VPXOR X8, X8, X8
	VPXOR X9, X9, X9
	BTQ $0, R9
	JCC without0
	VPINSRQ $0, (BX), X9, X9
without0:
	BTQ $16, R9
	JCC without1
	VPINSRQ $1, 8(BX), X9, X9
without1:
	BTQ $32, R9
	JCC without2
	VPINSRQ $0, (DX), X8, X8
without2:
	BTQ $48, R9
	JCC blend
	VPINSRQ $1, 8(DX), X8, X8
	JMP blend

parts:
	PIXELS(second, third, fourth, next)
	JMP next
