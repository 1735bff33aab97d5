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

	VMOVDQU ·besideQuad(SB), X15

loop:
	CMPQ CX, $4
	JB one
	MOVQ quad_cover(SI), AX
	ANDQ (quad__size+quad_cover)(SI), AX
	ANDQ (2*quad__size+quad_cover)(SI), AX
	ANDQ (3*quad__size+quad_cover)(SI), AX
	ANDQ R13, AX
	CMPQ AX, R13
	JNE one // some of four quads isn't covered
	VPADDD (SI), X15, X0
	VPADDD X15, X0, X1
	VPADDD X15, X1, X2
	VPXOR quad__size(SI), X0, X0
	VPXOR (2*quad__size)(SI), X1, X1
	VPXOR (3*quad__size)(SI), X2, X2
	VPOR X1, X0, X0
	VPOR X2, X0, X0
	VPTEST X0, X0
	JNE one // they aren't side by side
	FIRST(known4)
	MOVQ BX, block_at(R8)
	MOVL R12, block_from(R8)
	MOVB $31, block_cover(R8)
	ADDL $16, R12
	ADDQ $(4*quad__size), SI
	ADDQ $(4*block__size), R8
	SUBQ $4, CX
	JNZ loop
	RET

one:
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
	VZEROUPPER \
	RET

// FOURS goes on where four blocks lie side by side, and have the lanes of four quads: see quadBlocksAVX2.
#define FOURS(label) \
	CMPB block_cover(SI), $31 \
	JEQ label

#define TAKEFOURSNEXT(loop) \
	ADDQ $(4*block__size), SI \
	ADDQ $64, R8 \
	SUBQ $4, CX \
	JNZ loop \
	VZEROUPPER \
	RET

// TOQUADS makes quads of two lines of eight pixels: Y0 and Y1 of both.
#define TOQUADS \
	VUNPCKLPD Y1, Y0, Y2 \
	VUNPCKHPD Y1, Y0, Y3 \
	VPERM2F128 $0x20, Y3, Y2, Y0 \
	VPERM2F128 $0x31, Y3, Y2, Y1

// TOLINES is the way back.
#define TOLINES \
	VPERM2F128 $0x20, Y1, Y0, Y2 \
	VPERM2F128 $0x31, Y1, Y0, Y3 \
	VUNPCKLPD Y3, Y2, Y0 \
	VUNPCKHPD Y3, Y2, Y1

// TRANSPOSE makes rows of the columns in four registers: the second four. It does so for each half of Y.
#define TRANSPOSE(a, b, c, d, e, f, g, h, i, j, k, l) \
	VUNPCKLPS b, a, i \
	VUNPCKHPS b, a, j \
	VUNPCKLPS d, c, k \
	VUNPCKHPS d, c, l \
	VUNPCKLPD k, i, e \
	VUNPCKHPD k, i, f \
	VUNPCKLPD l, j, g \
	VUNPCKHPD l, j, h

#define TRANSPOSEX TRANSPOSE(X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11)
#define TRANSPOSEY TRANSPOSE(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11)

// TAKE8 takes two quads' texels of eight bytes, TAKE16 those of sixteen: the latter are so many bytes behind the first.
#define TAKE8(at) \
	VMOVUPS at(BX), Y0 \
	VMOVUPS at(DX), Y1 \
	VSHUFPS $0x88, Y1, Y0, Y2 \
	VSHUFPS $0xdd, Y1, Y0, Y3 \
	VMOVUPS Y2, at(R8) \
	VMOVUPS Y3, at(R9)

#define TAKE16(at, row) \
	VMOVUPS at(BX), Y4 \
	VMOVUPS (at+32)(BX), Y5 \
	VMOVUPS at(DX), Y6 \
	VMOVUPS (at+32)(DX), Y7 \
	VPERM2F128 $0x20, Y5, Y4, Y0 \
	VPERM2F128 $0x31, Y5, Y4, Y1 \
	VPERM2F128 $0x20, Y7, Y6, Y2 \
	VPERM2F128 $0x31, Y7, Y6, Y3 \
	TRANSPOSEY \
	VMOVUPS Y4, row(R8) \
	VMOVUPS Y5, row(R9) \
	VMOVUPS Y6, row(R10) \
	VMOVUPS Y7, row(R11)

// func takeAVX2(p *rowPlan, blocks *block, n int)
TEXT ·takeAVX2(SB), NOSPLIT, $0-24
	ARGUMENTS
	WORDS(const_planWords)
	SIZES(two, four, eight, sixteen)

one:
	FOURS(fours1)
	TAKEN(MOVB, R10, 1, all1, b1, c1, d1, done1)
	MOVWLZX (BX), AX
	MOVWLZX (DX), BX
	SHLL $16, BX
	ORL BX, AX
	VMOVD AX, X0
	VPMOVZXBD X0, X0
	VMOVDQU X0, (R8)
	TAKENEXT(one)

fours1:
	PLACE
	VPMOVZXBD (BX), Y0
	VPMOVZXBD (DX), Y1
	TOQUADS
	VMOVUPS Y0, (R8)
	VMOVUPS Y1, 32(R8)
	TAKEFOURSNEXT(one)

two:
	FOURS(fours2)
	TAKEN(MOVW, R10, 2, all2, b2, c2, d2, done2)
	VMOVD (BX), X0
	VPINSRD $1, (DX), X0, X0
	VPMOVZXWD X0, X0
	VMOVDQU X0, (R8)
	TAKENEXT(two)

fours2:
	PLACE
	VPMOVZXWD (BX), Y0
	VPMOVZXWD (DX), Y1
	TOQUADS
	VMOVUPS Y0, (R8)
	VMOVUPS Y1, 32(R8)
	TAKEFOURSNEXT(two)

four:
	FOURS(fours4)
	TAKEN(MOVL, R10, 4, all4, b4, c4, d4, done4)
	VMOVQ (BX), X0
	VMOVHPS (DX), X0, X0
	VMOVDQU X0, (R8)
	TAKENEXT(four)

fours4:
	PLACE
	VMOVUPS (BX), Y0
	VMOVUPS (DX), Y1
	TOQUADS
	VMOVUPS Y0, (R8)
	VMOVUPS Y1, 32(R8)
	TAKEFOURSNEXT(four)

eight:
	FOURS(fours8)
	TAKEN(MOVQ, R10, 8, all8, b8, c8, d8, done8)
	VMOVUPS (BX), X0
	VMOVUPS (DX), X1
	VSHUFPS $0x88, X1, X0, X2
	VSHUFPS $0xdd, X1, X0, X3
	VMOVUPS X2, (R8)
	VMOVUPS X3, (R9)
	ADDQ $16, R9
	TAKENEXT(eight)

fours8:
	PLACE
	TAKE8(0)
	TAKE8(32)
	ADDQ $64, R9
	TAKEFOURSNEXT(eight)

sixteen:
	FOURS(fours16)
	TAKEN(VMOVUPS, X0, 16, all16, b16, c16, d16, done16)
	VMOVUPS (BX), X0
	VMOVUPS 16(BX), X1
	VMOVUPS (DX), X2
	VMOVUPS 16(DX), X3
	TRANSPOSEX
	VMOVUPS X4, (R8)
	VMOVUPS X5, (R9)
	VMOVUPS X6, (R10)
	VMOVUPS X7, (R11)
	ADDQ $16, R9
	ADDQ $16, R10
	ADDQ $16, R11
	TAKENEXT(sixteen)

fours16:
	PLACE
	TAKE16(0, 0)
	TAKE16(64, 32)
	ADDQ $64, R9
	ADDQ $64, R10
	ADDQ $64, R11
	TAKEFOURSNEXT(sixteen)

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
	VZEROUPPER \
	RET

// PUTFOURS has AX be the first lane of four blocks.
#define PUTFOURS \
	PLACE \
	MOVL block_from(SI), AX

#define PUTFOURSNEXT(loop) \
	ADDQ $(4*block__size), SI \
	SUBQ $4, CX \
	JNZ loop \
	VZEROUPPER \
	RET

// PUT8 puts two quads' texels of eight bytes, PUT16 those of sixteen.
#define PUT8(at) \
	VMOVUPS at(R8)(AX*4), Y0 \
	VMOVUPS at(R9)(AX*4), Y1 \
	VUNPCKLPS Y1, Y0, Y2 \
	VUNPCKHPS Y1, Y0, Y3 \
	VMOVUPS Y2, at(BX) \
	VMOVUPS Y3, at(DX)

#define PUT16(at, row) \
	VMOVUPS row(R8)(AX*4), Y0 \
	VMOVUPS row(R9)(AX*4), Y1 \
	VMOVUPS row(R10)(AX*4), Y2 \
	VMOVUPS row(R11)(AX*4), Y3 \
	TRANSPOSEY \
	VPERM2F128 $0x20, Y5, Y4, Y0 \
	VPERM2F128 $0x31, Y5, Y4, Y1 \
	VPERM2F128 $0x20, Y7, Y6, Y2 \
	VPERM2F128 $0x31, Y7, Y6, Y3 \
	VMOVUPS Y0, at(BX) \
	VMOVUPS Y1, (at+32)(BX) \
	VMOVUPS Y2, at(DX) \
	VMOVUPS Y3, (at+32)(DX)

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
	FOURS(fours1)
	PUT
	FEW(1, all1)
	WORD(R8, X0)
	VPSHUFB lowBytes<>(SB), X0, X0
	VMOVD X0, AX
	MOVW AX, (BX)
	SHRL $16, AX
	MOVW AX, (DX)
	PUTNEXT(MOVB, R10, 1, one, b1, c1, d1, done1, next1)

fours1:
	PUTFOURS
	VMOVUPS (R8)(AX*4), Y0
	VMOVUPS 32(R8)(AX*4), Y1
	TOLINES
	VBROADCASTI128 lowBytes<>(SB), Y3
	VPSHUFB Y3, Y0, Y0
	VPSHUFB Y3, Y1, Y1
	VPUNPCKLDQ Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPUNPCKLDQ X1, X0, X0
	VMOVQ X0, (BX)
	VPEXTRQ $1, X0, (DX)
	PUTFOURSNEXT(one)

two:
	FOURS(fours2)
	PUT
	FEW(2, all2)
	WORD(R8, X0)
	VPACKUSDW X0, X0, X0
	VMOVD X0, (BX)
	VPEXTRD $1, X0, (DX)
	PUTNEXT(MOVW, R10, 2, two, b2, c2, d2, done2, next2)

fours2:
	PUTFOURS
	VMOVUPS (R8)(AX*4), Y0
	VMOVUPS 32(R8)(AX*4), Y1
	TOLINES
	VPACKUSDW Y1, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU X0, (BX)
	VEXTRACTI128 $1, Y0, (DX)
	PUTFOURSNEXT(two)

four:
	FOURS(fours4)
	PUT
	FEW(4, all4)
	WORD(R8, X0)
	VMOVQ X0, (BX)
	VMOVHPS X0, (DX)
	PUTNEXT(MOVL, R10, 4, four, b4, c4, d4, done4, next4)

fours4:
	PUTFOURS
	VMOVUPS (R8)(AX*4), Y0
	VMOVUPS 32(R8)(AX*4), Y1
	TOLINES
	VMOVUPS Y0, (BX)
	VMOVUPS Y1, (DX)
	PUTFOURSNEXT(four)

eight:
	FOURS(fours8)
	PUT
	FEW(8, all8)
	WORD(R8, X0)
	WORD(R9, X1)
	VUNPCKLPS X1, X0, X2
	VUNPCKHPS X1, X0, X3
	VMOVUPS X2, (BX)
	VMOVUPS X3, (DX)
	PUTNEXT(MOVQ, R10, 8, eight, b8, c8, d8, done8, next8)

fours8:
	PUTFOURS
	PUT8(0)
	PUT8(32)
	PUTFOURSNEXT(eight)

sixteen:
	FOURS(fours16)
	PUT
	FEW(16, all16)
	WORD(R8, X0)
	WORD(R9, X1)
	WORD(R10, X2)
	WORD(R11, X3)
	TRANSPOSEX
	VMOVUPS X4, (BX)
	VMOVUPS X5, 16(BX)
	VMOVUPS X6, (DX)
	VMOVUPS X7, 16(DX)
	PUTNEXT(VMOVUPS, X0, 16, sixteen, b16, c16, d16, done16, next16)

fours16:
	PUTFOURS
	PUT16(0, 0)
	PUT16(64, 32)
	PUTFOURSNEXT(sixteen)

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

// ALIVE leaves of a quad the samples of the pixels whose bits are the lower four of AX, and counts them in a register.
#define ALIVE(at, covers, count) \
	ANDL $15, AX \
	PDEPQ R8, AX, covers \
	IMUL3Q $0xffff, covers, covers \
	ANDQ (at+quad_cover)(SI), covers \
	MOVQ covers, (at+quad_cover)(SI) \
	POPCNTQ covers, covers \
	ADDQ covers, count

// func aliveAVX512(quads *quad, n int, lanes *uint8) int
TEXT ·aliveAVX512(SB), NOSPLIT, $0-32
	MOVQ quads+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ lanes+16(FP), DI
	MOVQ $0x0001000100010001, R8
	XORL DX, DX
	XORL R12, R12
	SUBQ $2, CX
	JB last

loop:
	MOVBLZX (DI), AX
	CMPL AX, $255
	JEQ all
	MOVL AX, R9
	ALIVE(0, R10, DX)
	MOVL R9, AX
	SHRL $4, AX
	ALIVE(quad__size, R11, R12)
	JMP next

all:
	POPCNTQ quad_cover(SI), R10
	POPCNTQ (quad__size+quad_cover)(SI), R11
	ADDQ R10, DX
	ADDQ R11, R12

next:
	INCQ DI
	ADDQ $(2*quad__size), SI
	SUBQ $2, CX
	JAE loop

last:
	ADDQ $2, CX
	JZ end
	MOVBLZX (DI), AX
	ALIVE(0, R10, DX)

end:
	ADDQ R12, DX
	MOVQ DX, ret+24(FP)
	RET
