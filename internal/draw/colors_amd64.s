#include "go_asm.h"
#include "textflag.h"

// 1, 255, 65536.5, 1/255
DATA scales<>+0(SB)/8, $1.0
DATA scales<>+8(SB)/8, $255.0
DATA scales<>+16(SB)/8, $65536.5
DATA scales<>+24(SB)/8, $0.00392156862745098
GLOBL scales<>(SB), RODATA|NOPTR, $32

// CONSTANTS are zero in Y11, 1/255 in Y12, 1 in Y13, 255 in Y14 and 65536.5 in Y15.
#define CONSTANTS \
	VXORPD Y11, Y11, Y11 \
	VBROADCASTSD scales<>+0(SB), Y13 \
	VBROADCASTSD scales<>+8(SB), Y14 \
	VBROADCASTSD scales<>+16(SB), Y15 \
	VBROADCASTSD scales<>+24(SB), Y12

// CLAMP keeps numbers within 0 and 1; NaN becomes 0.
#define CLAMP(v) \
	VMAXPD Y11, v, v \
	VMINPD Y13, v, v

// PUT makes bytes of numbers as unorm8 does, and adds them to the words in X9. The lowest byte of what is converted is
// that of the number; 1<<16 is above it.
#define PUT(channel, v, low) \
	CLAMP(v) \
	VMULPD Y14, v, v \
	VADDPD Y15, v, v \
	VCVTTPD2DQY v, low \
	VPSHUFB (colorPlan_put+32*channel)(DI), low, low \
	VPOR low, X9, X9

// WORDS are four lanes of the source, from lane R8 on.
#define WORDS(channel, v) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VCVTPS2PD (AX)(R8*4), v

#define SOURCE(channel) \
	WORDS(channel, Y0) \
	CLAMP(Y0) \
	VMOVUPD Y0, (colorPlan_rows+64*(const_rowOfSource+channel))(DI)

// ONE is one lane of the source, R8, for four samples.
#define ONE(channel) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VBROADCASTSS (AX)(R8*4), X0 \
	VCVTPS2PD X0, Y0 \
	CLAMP(Y0) \
	VMOVUPD Y0, (colorPlan_rows+64*(const_rowOfSource+channel))(DI)

// THERE divides the bytes of the texels in X8 by 255. What the quotient's product lacks is exact, and the sum is the
// quotient rounded once, as a division's is.
#define THERE(channel) \
	VPSHUFB (colorPlan_take+32*channel)(DI), X8, X0 \
	VCVTDQ2PD X0, Y0 \
	VMULPD Y12, Y0, Y1 \
	VFNMADD231PD Y14, Y1, Y0 \
	VFMADD231PD Y12, Y0, Y1 \
	VMOVUPD Y1, (colorPlan_rows+64*(const_rowOfThere+channel))(DI)

// FACTOR is offset + sign*row.
#define FACTOR(which, channel, v, spare) \
	MOVQ (which+colorFactor__size*channel+colorFactor_row)(DI), AX \
	VBROADCASTSD (which+colorFactor__size*channel+colorFactor_sign)(DI), v \
	VMULPD (DI)(AX*1), v, v \
	VBROADCASTSD (which+colorFactor__size*channel+colorFactor_offset)(DI), spare \
	VADDPD v, spare, v

#define BLEND(channel) \
	FACTOR(colorPlan_from, channel, Y0, Y1) \
	VMULPD (colorPlan_rows+64*(const_rowOfSource+channel))(DI), Y0, Y0 \
	FACTOR(colorPlan_to, channel, Y2, Y3) \
	VMULPD (colorPlan_rows+64*(const_rowOfThere+channel))(DI), Y2, Y2 \
	VADDPD Y2, Y0, Y0 \
	PUT(channel, Y0, X0)

// BLENDED makes the texels in X9 of those in X8. Bits that aren't written stay.
#define BLENDED \
	THERE(0) \
	THERE(1) \
	THERE(2) \
	THERE(3) \
	VPXOR X9, X9, X9 \
	BLEND(0) \
	BLEND(1) \
	BLEND(2) \
	BLEND(3) \
	VPBROADCASTD colorPlan_mask(DI), X0 \
	VPXOR X8, X9, X9 \
	VPAND X0, X9, X9 \
	VPXOR X8, X9, X9

// The same for two quads: eight texels.
#define CLAMP8(v) \
	VMAXPD Z11, v, v \
	VMINPD Z13, v, v

#define PUT8(channel, v, low) \
	CLAMP8(v) \
	VMULPD Z14, v, v \
	VADDPD Z15, v, v \
	VCVTTPD2DQ v, low \
	VPSHUFB (colorPlan_put+32*channel)(DI), low, low \
	VPOR low, Y9, Y9

#define WORDS8(channel, v) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VCVTPS2PD (AX)(R8*4), v

#define SOURCE8(channel) \
	WORDS8(channel, Z0) \
	CLAMP8(Z0) \
	VMOVUPD Z0, (colorPlan_rows+64*(const_rowOfSource+channel))(DI)

#define THERE8(channel) \
	VPSHUFB (colorPlan_take+32*channel)(DI), Y8, Y0 \
	VCVTDQ2PD Y0, Z0 \
	VMULPD Z12, Z0, Z1 \
	VFNMADD231PD Z14, Z1, Z0 \
	VFMADD231PD Z12, Z0, Z1 \
	VMOVUPD Z1, (colorPlan_rows+64*(const_rowOfThere+channel))(DI)

#define FACTOR8(which, channel, v) \
	MOVQ (which+colorFactor__size*channel+colorFactor_row)(DI), AX \
	VMOVUPD (DI)(AX*1), v \
	VMULPD.BCST (which+colorFactor__size*channel+colorFactor_sign)(DI), v, v \
	VADDPD.BCST (which+colorFactor__size*channel+colorFactor_offset)(DI), v, v

#define BLEND8(channel) \
	FACTOR8(colorPlan_from, channel, Z0) \
	VMULPD (colorPlan_rows+64*(const_rowOfSource+channel))(DI), Z0, Z0 \
	FACTOR8(colorPlan_to, channel, Z2) \
	VMULPD (colorPlan_rows+64*(const_rowOfThere+channel))(DI), Z2, Z2 \
	VADDPD Z2, Z0, Z0 \
	PUT8(channel, Z0, Y0)

#define BLENDED8 \
	THERE8(0) \
	THERE8(1) \
	THERE8(2) \
	THERE8(3) \
	VPXOR Y9, Y9, Y9 \
	BLEND8(0) \
	BLEND8(1) \
	BLEND8(2) \
	BLEND8(3) \
	VPBROADCASTD colorPlan_mask(DI), Y0 \
	VPXOR Y8, Y9, Y9 \
	VPAND Y0, Y9, Y9 \
	VPXOR Y8, Y9, Y9

// CONSTANTS8 are CONSTANTS where there is AVX-512.
#define CONSTANTS8(without) \
	CMPB colorPlan_wide(DI), $0 \
	JEQ without \
	VBROADCASTSD scales<>+0(SB), Z13 \
	VBROADCASTSD scales<>+8(SB), Z14 \
	VBROADCASTSD scales<>+16(SB), Z15 \
	VBROADCASTSD scales<>+24(SB), Z12

// PAIR looks for two whole quads, and puts the address of the second's first texel into R11. Those in one place can't
// be written together.
#define PAIR(single) \
	CMPB colorPlan_wide(DI), $0 \
	JEQ single \
	CMPQ CX, $2 \
	JB single \
	CMPQ R9, R10 \
	JNE single \
	MOVQ (quad__size+quad_cover)(SI), AX \
	ANDQ R10, AX \
	CMPQ AX, R10 \
	JNE single \
	MOVLQSX (quad__size+quad_prim)(SI), R11 \
	IMULQ $prim__size, R11 \
	MOVL (prim_layer)(R13)(R11*1), R11 \
	IMULQ colorPlan_layerPitch(DI), R11 \
	ADDQ colorPlan_bytes(DI), R11 \
	MOVLQSX (quad__size+quad_y)(SI), AX \
	IMULQ R12, AX \
	ADDQ AX, R11 \
	MOVLQSX (quad__size+quad_x)(SI), AX \
	LEAQ (R11)(AX*4), R11 \
	CMPQ R11, BX \
	JEQ single

// STORE8 writes two quads.
#define STORE8 \
	VMOVQ X9, (BX) \
	VMOVHPS X9, (DX) \
	VEXTRACTI128 $1, Y9, X9 \
	VMOVQ X9, (R11) \
	VMOVHPS X9, (R11)(R12*1)

// PLACE puts the address of a quad's first texel into BX, and of the row below into DX.
#define PLACE \
	MOVLQSX quad_prim(SI), BX \
	IMULQ $prim__size, BX \
	MOVL (prim_layer)(R13)(BX*1), BX \
	IMULQ colorPlan_layerPitch(DI), BX \
	ADDQ colorPlan_bytes(DI), BX \
	MOVLQSX quad_y(SI), DX \
	IMULQ R12, DX \
	ADDQ DX, BX \
	MOVLQSX quad_x(SI), DX \
	IMULQ colorPlan_texelPitch(DI), DX \
	ADDQ DX, BX \
	LEAQ (BX)(R12*1), DX

#define ARGUMENTS \
	MOVQ p+0(FP), DI \
	MOVQ quads+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVQ prims+24(FP), R13 \
	MOVQ colorPlan_rowPitch(DI), R12 \
	XORL R8, R8 \
	CONSTANTS

// COVERAGE is the first sample of each pixel, in R9; R10 has all four.
#define COVERAGE \
	MOVQ quad_cover(SI), R9 \
	ANDQ R10, R9

// PARTS stores the texels of a quad in X9 that are covered.
#define PARTS(second, third, fourth, next) \
	BTQ $0, R9 \
	JCC second \
	VMOVD X9, (BX) \
second: \
	BTQ $16, R9 \
	JCC third \
	VPEXTRD $1, X9, 4(BX) \
third: \
	BTQ $32, R9 \
	JCC fourth \
	VPEXTRD $2, X9, (DX) \
fourth: \
	BTQ $48, R9 \
	JCC next \
	VPEXTRD $3, X9, 4(DX)

// func storeQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·storeQuadsAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS8(narrow)

narrow:
	MOVQ $0x0001000100010001, R10

loop:
	COVERAGE
	JZ next
	PLACE
	PAIR(single)
	WORDS8(0, Z0)
	WORDS8(1, Z1)
	WORDS8(2, Z2)
	WORDS8(3, Z3)
	VPXOR Y9, Y9, Y9
	PUT8(0, Z0, Y0)
	PUT8(1, Z1, Y1)
	PUT8(2, Z2, Y2)
	PUT8(3, Z3, Y3)
	STORE8
	JMP both

single:
	WORDS(0, Y0)
	WORDS(1, Y1)
	WORDS(2, Y2)
	WORDS(3, Y3)
	VPXOR X9, X9, X9
	PUT(0, Y0, X0)
	PUT(1, Y1, X1)
	PUT(2, Y2, X2)
	PUT(3, Y3, X3)
	CMPQ R9, R10
	JNE parts
	VMOVQ X9, (BX)
	VMOVHPS X9, (DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

both:
	ADDQ $8, R8
	ADDQ $(2*quad__size), SI
	SUBQ $2, CX
	JNZ loop
	VZEROUPPER
	RET

parts:
	PARTS(second, third, fourth, next)
	JMP next

// func blendQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·blendQuadsAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS8(narrow)

narrow:
	MOVQ $0x0001000100010001, R10

loop:
	COVERAGE
	JZ next
	PLACE
	PAIR(single)
	VMOVQ (BX), X8
	VMOVHPS (DX), X8, X8
	VMOVQ (R11), X7
	VMOVHPS (R11)(R12*1), X7, X7
	VINSERTI128 $1, X7, Y8, Y8
	SOURCE8(0)
	SOURCE8(1)
	SOURCE8(2)
	SOURCE8(3)
	BLENDED8
	STORE8
	JMP both

single:
	CMPQ R9, R10
	JNE some
	VMOVQ (BX), X8
	VMOVHPS (DX), X8, X8

blend:
	SOURCE(0)
	SOURCE(1)
	SOURCE(2)
	SOURCE(3)
	BLENDED
	CMPQ R9, R10
	JNE parts
	VMOVQ X9, (BX)
	VMOVHPS X9, (DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

both:
	ADDQ $8, R8
	ADDQ $(2*quad__size), SI
	SUBQ $2, CX
	JNZ loop
	VZEROUPPER
	RET

some:
	VPXOR X8, X8, X8
	BTQ $0, R9
	JCC without0
	VPINSRD $0, (BX), X8, X8
without0:
	BTQ $16, R9
	JCC without1
	VPINSRD $1, 4(BX), X8, X8
without1:
	BTQ $32, R9
	JCC without2
	VPINSRD $2, (DX), X8, X8
without2:
	BTQ $48, R9
	JCC blend
	VPINSRD $3, 4(DX), X8, X8
	JMP blend

parts:
	PARTS(second, third, fourth, next)
	JMP next

// func blendSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·blendSamplesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS

loop:
	MOVQ quad_cover(SI), AX
	TESTQ AX, AX
	JZ none
	PLACE

pixel:
	MOVQ R8, AX
	ANDQ $3, AX
	MOVWLZX (quad_cover)(SI)(AX*2), R9
	ANDL colorPlan_samples(DI), R9
	JZ next
	MOVQ BX, DX
	TESTL $1, AX
	JZ left
	ADDQ colorPlan_texelPitch(DI), DX
left:
	TESTL $2, AX
	JZ above
	ADDQ R12, DX
above:
	ONE(0)
	ONE(1)
	ONE(2)
	ONE(3)

four:
	MOVL R9, R10
	ANDL $15, R10
	JZ after
	CMPL R10, $15
	JNE some
	VMOVDQU (DX), X8

blend:
	BLENDED
	CMPL R10, $15
	JNE parts
	VMOVDQU X9, (DX)

after:
	ADDQ $16, DX
	SHRL $4, R9
	JNZ four

next:
	INCQ R8
	TESTQ $3, R8
	JNZ pixel

end:
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

none:
	ADDQ $4, R8
	JMP end

some:
	VPXOR X8, X8, X8
	BTL $0, R10
	JCC without0
	VPINSRD $0, (DX), X8, X8
without0:
	BTL $1, R10
	JCC without1
	VPINSRD $1, 4(DX), X8, X8
without1:
	BTL $2, R10
	JCC without2
	VPINSRD $2, 8(DX), X8, X8
without2:
	BTL $3, R10
	JCC blend
	VPINSRD $3, 12(DX), X8, X8
	JMP blend

parts:
	BTL $0, R10
	JCC second
	VMOVD X9, (DX)
second:
	BTL $1, R10
	JCC third
	VPEXTRD $1, X9, 4(DX)
third:
	BTL $2, R10
	JCC fourth
	VPEXTRD $2, X9, 8(DX)
fourth:
	BTL $3, R10
	JCC after
	VPEXTRD $3, X9, 12(DX)
	JMP after

// PIXEL stores a texel of X9, which is repeated in X0, to those of four samples that are covered.
#define PIXEL(texel, address, second, third, fourth, next) \
	VPSHUFD $(0x55*texel), X9, X0 \
	BTQ $(16*texel), R9 \
	JCC second \
	VMOVD X0, (address) \
second: \
	BTQ $(16*texel+1), R9 \
	JCC third \
	VMOVD X0, 4(address) \
third: \
	BTQ $(16*texel+2), R9 \
	JCC fourth \
	VMOVD X0, 8(address) \
fourth: \
	BTQ $(16*texel+3), R9 \
	JCC next \
	VMOVD X0, 12(address)

// func storeSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·storeSamplesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	MOVQ $0x000f000f000f000f, R10

loop:
	COVERAGE
	JZ next
	PLACE
	WORDS(0, Y0)
	WORDS(1, Y1)
	WORDS(2, Y2)
	WORDS(3, Y3)
	VPXOR X9, X9, X9
	PUT(0, Y0, X0)
	PUT(1, Y1, X1)
	PUT(2, Y2, X2)
	PUT(3, Y3, X3)
	CMPQ R9, R10
	JNE parts
	VPSHUFD $0x00, X9, X0
	VPSHUFD $0x55, X9, X1
	VPSHUFD $0xaa, X9, X2
	VPSHUFD $0xff, X9, X3
	VMOVDQU X0, (BX)
	VMOVDQU X1, 16(BX)
	VMOVDQU X2, (DX)
	VMOVDQU X3, 16(DX)

next:
	ADDQ $4, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

parts:
	LEAQ 16(BX), R11
	PIXEL(0, BX, b0, c0, d0, pixel1)
pixel1:
	PIXEL(1, R11, b1, c1, d1, pixel2)
pixel2:
	LEAQ 16(DX), R11
	PIXEL(2, DX, b2, c2, d2, pixel3)
pixel3:
	PIXEL(3, R11, b3, c3, d3, next)
	JMP next
