#include "go_asm.h"
#include "textflag.h"

// How the bytes of four words are put together.
DATA lowBytes<>+0(SB)/8, $0x808080800c080400
DATA lowBytes<>+8(SB)/8, $0x8080808080808080
GLOBL lowBytes<>(SB), RODATA|NOPTR, $16

// What both ways between texels and words have in common: DI has the plan, SI the blocks, CX how many, R8 to R11 the
// words of four texels, and R12 the bytes from the first pair of texels of a block to the second. Texels of some of a
// block pass through memory at R13.
#define ARGUMENTS \
	MOVQ p+0(FP), DI \
	MOVQ blocks+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVQ rowPlan_gap(DI), R12 \
	LEAQ rowPlan_some(DI), R13

// FIRST puts the place of a quad's first texel into BX. R9 has the primitive that the last quad had, and R10 where its
// layer begins.
#define FIRST(known) \
	MOVL quad_prim(SI), AX \
	CMPL AX, R9 \
	JEQ known \
	MOVL AX, R9 \
	IMULQ $prim__size, AX \
	MOVL prim_layer(DX)(AX*1), R10 \
	IMULQ rowPlan_layerPitch(DI), R10 \
known: \
	MOVLQSX quad_y(SI), BX \
	IMULQ rowPlan_rowPitch(DI), BX \
	ADDQ R10, BX \
	MOVLQSX quad_x(SI), AX \
	IMULQ rowPlan_texelPitch(DI), AX \
	ADDQ AX, BX

// QUADS are what the makers of blocks begin with.
#define QUADS \
	MOVQ p+0(FP), DI \
	MOVQ blocks+8(FP), R8 \
	MOVQ quads+16(FP), SI \
	MOVQ n+24(FP), CX \
	MOVQ prims+32(FP), DX \
	MOVL $-1, R9 \
	XORL R12, R12

// ROWBLOCKS are the blocks of a row of a quad: BX has the place of its first sample, and the lower words of AX have the
// covers of its pixels. A block of which nothing is covered is written over by the next one.
#define ROWBLOCKS(lanes, again, done) \
	MOVL AX, R11 \
	SHRL $16, R11 \
	MOVL rowPlan_samples(DI), R13 \
	ANDL R13, R11 \
	ANDL R13, AX \
	INCL R13 \
	IMULQ R13, R11 \
	ORQ R11, AX \
	JEQ done \
	LEAQ lanes(DI), R11 \
again: \
	MOVQ (R11), R14 \
	MOVQ BX, block_at(R8) \
	MOVQ R14, block_perm(R8) \
	MOVL R12, block_from(R8) \
	MOVL AX, R13 \
	ANDL $15, R13 \
	MOVB R13, block_cover(R8) \
	NEGL R13 \
	SBBQ R13, R13 \
	ANDL $block__size, R13 \
	ADDQ R13, R8 \
	ADDQ $8, R11 \
	ADDQ rowPlan_blockPitch(DI), BX \
	SHRQ $4, AX \
	JNE again \
done:

// func quadBlocksAVX2(p *rowPlan, blocks *block, quads *quad, n int, prims *prim)
TEXT ·quadBlocksAVX2(SB), NOSPLIT, $0-40
	QUADS
	MOVQ $0x0001000100010001, R13
	MOVQ $0x0001000200040008, R14
	LEAQ ·blockLanes(SB), R11

loop:
	FIRST(known)
	MOVQ BX, block_at(R8)
	MOVQ R11, block_perm(R8)
	MOVL R12, block_from(R8)
	MOVQ quad_cover(SI), AX // the lowest bit of each cover comes to the highest word
	ANDQ R13, AX
	IMULQ R14, AX
	SHRQ $48, AX
	MOVB AX, block_cover(R8)
	ADDL $4, R12
	ADDQ $quad__size, SI
	ADDQ $block__size, R8
	DECQ CX
	JNZ loop
	RET

// func sampleBlocksAVX2(p *rowPlan, blocks *block, quads *quad, n int, prims *prim) int
TEXT ·sampleBlocksAVX2(SB), NOSPLIT, $0-48
	QUADS

loop:
	FIRST(known)
	MOVQ BX, ret+40(FP) // until the result is there
	MOVL quad_cover(SI), AX
	ROWBLOCKS(rowPlan_lanes, again0, row1)
	MOVQ ret+40(FP), BX
	ADDQ rowPlan_rowPitch(DI), BX
	MOVL (quad_cover+4)(SI), AX
	ROWBLOCKS(rowPlan_lanes+64, again1, next)
	ADDL $4, R12
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	MOVQ R8, AX
	SUBQ blocks+8(FP), AX
	XORL DX, DX
	MOVL $block__size, CX
	DIVQ CX
	MOVQ AX, ret+40(FP)
	RET

#define WORDS(row) \
	MOVQ (rowPlan_rows+8*(row))(DI), R8 \
	MOVQ (rowPlan_rows+8*(row+1))(DI), R9 \
	MOVQ (rowPlan_rows+8*(row+2))(DI), R10 \
	MOVQ (rowPlan_rows+8*(row+3))(DI), R11

// SIZES goes on where texels of the plan's size are treated.
#define SIZES(two, four, eight, sixteen) \
	MOVQ rowPlan_size(DI), AX \
	CMPQ AX, $2 \
	JEQ two \
	CMPQ AX, $4 \
	JEQ four \
	CMPQ AX, $8 \
	JEQ eight \
	CMPQ AX, $16 \
	JEQ sixteen

// PLACE puts the addresses of both pairs into BX and DX.
#define PLACE \
	MOVQ block_at(SI), BX \
	ADDQ rowPlan_bytes(DI), BX \
	LEAQ (BX)(R12*1), DX

// SOME copies the texels of a block that are covered, of so many bytes, by way of a register.
#define SOME(mov, register, size, from0, from1, to0, to1, second, third, fourth, done) \
	MOVBLZX block_cover(SI), AX \
	BTL $0, AX \
	JCC second \
	mov 0(from0), register \
	mov register, 0(to0) \
second: \
	BTL $1, AX \
	JCC third \
	mov size(from0), register \
	mov register, size(to0) \
third: \
	BTL $2, AX \
	JCC fourth \
	mov 0(from1), register \
	mov register, 0(to1) \
fourth: \
	BTL $3, AX \
	JCC done \
	mov size(from1), register \
	mov register, size(to1) \
done:

// TAKEN has BX and DX point to the texels of a block: where they are, or in memory of its own if only some are
// covered.
#define TAKEN(mov, register, size, all, second, third, fourth, done) \
	PLACE \
	CMPB block_cover(SI), $15 \
	JEQ all \
	LEAQ (2*size)(R13), R14 \
	SOME(mov, register, size, BX, DX, R13, R14, second, third, fourth, done) \
	MOVQ R13, BX \
	MOVQ R14, DX \
all:

#define TAKENEXT(loop) \
	ADDQ $block__size, SI \
	ADDQ $16, R8 \
	DECQ CX \
	JNZ loop \
	RET

// TRANSPOSE makes rows of the columns in X0 to X3: X4, X5, X6 and X7.
#define TRANSPOSE \
	VUNPCKLPS X1, X0, X8 \
	VUNPCKHPS X1, X0, X9 \
	VUNPCKLPS X3, X2, X10 \
	VUNPCKHPS X3, X2, X11 \
	VUNPCKLPD X10, X8, X4 \
	VUNPCKHPD X10, X8, X5 \
	VUNPCKLPD X11, X9, X6 \
	VUNPCKHPD X11, X9, X7

// func takeAVX2(p *rowPlan, blocks *block, n int)
TEXT ·takeAVX2(SB), NOSPLIT, $0-24
	ARGUMENTS
	WORDS(const_planWords)
	SIZES(two, four, eight, sixteen)

one:
	TAKEN(MOVB, R10, 1, all1, b1, c1, d1, done1)
	MOVWLZX (BX), AX
	MOVWLZX (DX), BX
	SHLL $16, BX
	ORL BX, AX
	VMOVD AX, X0
	VPMOVZXBD X0, X0
	VMOVDQU X0, (R8)
	TAKENEXT(one)

two:
	TAKEN(MOVW, R10, 2, all2, b2, c2, d2, done2)
	VMOVD (BX), X0
	VPINSRD $1, (DX), X0, X0
	VPMOVZXWD X0, X0
	VMOVDQU X0, (R8)
	TAKENEXT(two)

four:
	TAKEN(MOVL, R10, 4, all4, b4, c4, d4, done4)
	VMOVQ (BX), X0
	VMOVHPS (DX), X0, X0
	VMOVDQU X0, (R8)
	TAKENEXT(four)

eight:
	TAKEN(MOVQ, R10, 8, all8, b8, c8, d8, done8)
	VMOVUPS (BX), X0
	VMOVUPS (DX), X1
	VSHUFPS $0x88, X1, X0, X2
	VSHUFPS $0xdd, X1, X0, X3
	VMOVUPS X2, (R8)
	VMOVUPS X3, (R9)
	ADDQ $16, R9
	TAKENEXT(eight)

sixteen:
	TAKEN(VMOVUPS, X0, 16, all16, b16, c16, d16, done16)
	VMOVUPS (BX), X0
	VMOVUPS 16(BX), X1
	VMOVUPS (DX), X2
	VMOVUPS 16(DX), X3
	TRANSPOSE
	VMOVUPS X4, (R8)
	VMOVUPS X5, (R9)
	VMOVUPS X6, (R10)
	VMOVUPS X7, (R11)
	ADDQ $16, R9
	ADDQ $16, R10
	ADDQ $16, R11
	TAKENEXT(sixteen)

// WORD is a word of the four texels of a block, whose lanes are anywhere in four.
#define WORD(row, v) \
	MOVL block_from(SI), AX \
	VMOVUPS (row)(AX*4), v \
	VPERMILPS X15, v, v

// PUT begins with where the texels of a block go.
#define PUT \
	MOVQ block_perm(SI), AX \
	VMOVUPS (AX), X15 \
	PLACE \
	CMPB block_cover(SI), $15

// FEW has them go to memory of its own where they aren't all covered.
#define FEW(size, all) \
	JEQ all \
	MOVQ R13, BX \
	LEAQ (2*size)(R13), DX \
all:

// PUTNEXT copies those that are from there.
#define PUTNEXT(mov, register, size, loop, second, third, fourth, done, next) \
	CMPB block_cover(SI), $15 \
	JEQ next \
	LEAQ (2*size)(R13), R14 \
	PLACE \
	SOME(mov, register, size, R13, R14, BX, DX, second, third, fourth, done) \
next: \
	ADDQ $block__size, SI \
	DECQ CX \
	JNZ loop \
	RET

// func putAVX2(p *rowPlan, blocks *block, n int)
TEXT ·putAVX2(SB), NOSPLIT, $0-24
	ARGUMENTS
	MOVBLZX (rowPlan_made+0)(DI), AX
	MOVQ rowPlan_rows(DI)(AX*8), R8
	MOVBLZX (rowPlan_made+1)(DI), AX
	MOVQ rowPlan_rows(DI)(AX*8), R9
	MOVBLZX (rowPlan_made+2)(DI), AX
	MOVQ rowPlan_rows(DI)(AX*8), R10
	MOVBLZX (rowPlan_made+3)(DI), AX
	MOVQ rowPlan_rows(DI)(AX*8), R11
	SIZES(two, four, eight, sixteen)

one:
	PUT
	FEW(1, all1)
	WORD(R8, X0)
	VPSHUFB lowBytes<>(SB), X0, X0
	VMOVD X0, AX
	MOVW AX, (BX)
	SHRL $16, AX
	MOVW AX, (DX)
	PUTNEXT(MOVB, R10, 1, one, b1, c1, d1, done1, next1)

two:
	PUT
	FEW(2, all2)
	WORD(R8, X0)
	VPACKUSDW X0, X0, X0
	VMOVD X0, (BX)
	VPEXTRD $1, X0, (DX)
	PUTNEXT(MOVW, R10, 2, two, b2, c2, d2, done2, next2)

four:
	PUT
	FEW(4, all4)
	WORD(R8, X0)
	VMOVQ X0, (BX)
	VMOVHPS X0, (DX)
	PUTNEXT(MOVL, R10, 4, four, b4, c4, d4, done4, next4)

eight:
	PUT
	FEW(8, all8)
	WORD(R8, X0)
	WORD(R9, X1)
	VUNPCKLPS X1, X0, X2
	VUNPCKHPS X1, X0, X3
	VMOVUPS X2, (BX)
	VMOVUPS X3, (DX)
	PUTNEXT(MOVQ, R10, 8, eight, b8, c8, d8, done8, next8)

sixteen:
	PUT
	FEW(16, all16)
	WORD(R8, X0)
	WORD(R9, X1)
	WORD(R10, X2)
	WORD(R11, X3)
	TRANSPOSE
	VMOVUPS X4, (BX)
	VMOVUPS X5, 16(BX)
	VMOVUPS X6, (DX)
	VMOVUPS X7, 16(DX)
	PUTNEXT(VMOVUPS, X0, 16, sixteen, b16, c16, d16, done16, next16)

// func expandAVX2(to, from *uint32, blocks *block, n int)
TEXT ·expandAVX2(SB), NOSPLIT, $0-32
	MOVQ to+0(FP), DI
	MOVQ from+8(FP), R8
	MOVQ blocks+16(FP), SI
	MOVQ n+24(FP), CX

loop:
	MOVQ block_perm(SI), AX
	VMOVUPS (AX), X15
	WORD(R8, X0)
	VMOVUPS X0, (DI)
	ADDQ $16, DI
	ADDQ $block__size, SI
	DECQ CX
	JNZ loop
	RET
