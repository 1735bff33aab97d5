#include "go_asm.h"
#include "textflag.h"

// What the functions below have in common. DI has the plan, SI the quads, CX how many, R13 the rows of
// the plan, R12 the pitch of the image's, and R8 the lane.

#define ARGUMENTS \
	MOVQ p+0(FP), DI \
	MOVQ quads+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVQ colorPlan_rows(DI), R13 \
	MOVQ colorPlan_rowPitch(DI), R12 \
	XORL R8, R8

// WORDS are four lanes of the source, from lane R8 on.
#define WORDS(channel, v) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VMOVUPS (AX)(R8*4), v

// FACTORS computes the factors that are no row, as offset + sign*row.
#define FACTORS(again, done) \
	MOVQ colorPlan_count(DI), AX \
	LEAQ colorPlan_factors(DI), R14 \
again: \
	SUBQ $1, AX \
	JCS done \
	MOVQ colorFactor_row(R14), R11 \
	VBROADCASTSS colorFactor_sign(R14), X0 \
	VMULPS (R13)(R11*1), X0, X0 \
	VBROADCASTSS colorFactor_offset(R14), X1 \
	VADDPS X0, X1, X0 \
	MOVQ colorFactor_to(R14), R11 \
	VMOVUPS X0, (R13)(R11*1) \
	ADDQ $colorFactor__size, R14 \
	JMP again \
done:

// BLEND is a channel of the blended colour, in v.
#define BLEND(channel, v) \
	MOVQ (colorPlan_from+8*channel)(DI), AX \
	VMOVUPS (64*(const_rowOfSource+channel))(R13), v \
	VMULPS (R13)(AX*1), v, v \
	MOVQ (colorPlan_to+8*channel)(DI), AX \
	VMOVUPS (64*(const_rowOfThere+channel))(R13), X2 \
	VMULPS (R13)(AX*1), X2, X2 \
	VADDPS X2, v, v

// PLACE puts the address of a quad's first texel into BX, and of the row below into DX.
#define PLACE \
	MOVLQSX quad_prim(SI), BX \
	IMULQ $prim__size, BX \
	ADDQ prims+24(FP), BX \
	MOVL prim_layer(BX), BX \
	IMULQ colorPlan_layerPitch(DI), BX \
	ADDQ colorPlan_bytes(DI), BX \
	MOVLQSX quad_y(SI), DX \
	IMULQ R12, DX \
	ADDQ DX, BX \
	MOVLQSX quad_x(SI), DX \
	IMULQ colorPlan_texelPitch(DI), DX \
	ADDQ DX, BX \
	LEAQ (BX)(R12*1), DX

// COVERAGE is the first sample of each pixel, in R9; R10 has all four.
#define COVERAGE \
	MOVQ quad_cover(SI), R9 \
	ANDQ R10, R9

// 255 and 65536.5; as floats of 32 bits 1, 255, 0.5, what 1/255 is, in two parts, and how many buckets sRGB has.
DATA scales<>+0(SB)/8, $255.0
DATA scales<>+8(SB)/8, $65536.5
DATA scales<>+16(SB)/4, $0x3f800000
DATA scales<>+20(SB)/4, $0x437f0000
DATA scales<>+24(SB)/4, $0x3f000000
DATA scales<>+28(SB)/4, $0x3b808081
DATA scales<>+32(SB)/4, $0xaf7efeff
DATA scales<>+36(SB)/4, $0x45800000
GLOBL scales<>(SB), RODATA|NOPTR, $40

// The words of four quads by rows of their pixels.
DATA rowsFirst<>+0(SB)/8, $0
DATA rowsFirst<>+8(SB)/8, $2
DATA rowsFirst<>+16(SB)/8, $4
DATA rowsFirst<>+24(SB)/8, $6
DATA rowsFirst<>+32(SB)/8, $1
DATA rowsFirst<>+40(SB)/8, $3
DATA rowsFirst<>+48(SB)/8, $5
DATA rowsFirst<>+56(SB)/8, $7
GLOBL rowsFirst<>(SB), RODATA|NOPTR, $64

// What undoes that.
DATA quadsFirst<>+0(SB)/8, $0
DATA quadsFirst<>+8(SB)/8, $4
DATA quadsFirst<>+16(SB)/8, $1
DATA quadsFirst<>+24(SB)/8, $5
DATA quadsFirst<>+32(SB)/8, $2
DATA quadsFirst<>+40(SB)/8, $6
DATA quadsFirst<>+48(SB)/8, $3
DATA quadsFirst<>+56(SB)/8, $7
GLOBL quadsFirst<>(SB), RODATA|NOPTR, $64

// CONSTANTS are zero in X11, 1 in X13, 1/255 in X12 and X10, and as floats of 64 bits 255 in Y14 and 65536.5 in Y15.
#define CONSTANTS \
	VXORPD Y11, Y11, Y11 \
	VBROADCASTSS scales<>+16(SB), X13 \
	VBROADCASTSS scales<>+28(SB), X12 \
	VBROADCASTSS scales<>+32(SB), X10 \
	VBROADCASTSD scales<>+0(SB), Y14 \
	VBROADCASTSD scales<>+8(SB), Y15

// CLAMP keeps numbers within 0 and 1; NaN becomes 0.
#define CLAMP(v) \
	VMAXPS X11, v, v \
	VMINPS X13, v, v

// PUT makes bytes of numbers as unorm8 does, and adds them to the words in X9. The lowest byte of what is converted is
// that of the number; 1<<16 is above it.
#define PUT(channel, v, wide, low) \
	CLAMP(v) \
	VCVTPS2PD v, wide \
	VMULPD Y14, wide, wide \
	VADDPD Y15, wide, wide \
	VCVTTPD2DQY wide, low \
	VPSHUFB (colorPlan_put+32*channel)(DI), low, low \
	VPOR low, X9, X9

// NONLINEAR makes of linear numbers what PUT makes sRGB's bytes of (texel.SRGB8).
#define NONLINEAR(v) \
	CLAMP(v) \
	VBROADCASTSS scales<>+36(SB), X0 \
	VMULPS X0, v, X0 \
	VCVTTPS2DQ X0, X0 \
	MOVQ colorPlan_firsts(DI), AX \
	VPCMPEQD X2, X2, X2 \
	VPGATHERDD X2, (AX)(X0*4), X1 \
	MOVQ colorPlan_steps(DI), AX \
	VPCMPEQD X2, X2, X2 \
	VGATHERDPS X2, (AX)(X1*4), X3 \
	VCMPPS $2, v, X3, X3 \
	VPSUBD X3, X1, X1 \
	VCVTDQ2PS X1, v \
	VMULPS X12, v, v

// MADE makes the texels in X9 of the channels in X4 to X7.
#define MADE(linear) \
	CMPQ colorPlan_firsts(DI), $0 \
	JEQ linear \
	NONLINEAR(X4) \
	NONLINEAR(X5) \
	NONLINEAR(X6) \
linear: \
	VPXOR X9, X9, X9 \
	PUT(0, X4, Y0, X0) \
	PUT(1, X5, Y0, X0) \
	PUT(2, X6, Y0, X0) \
	PUT(3, X7, Y0, X0)

#define SOURCE(channel) \
	WORDS(channel, X0) \
	CLAMP(X0) \
	VMOVUPS X0, (64*(const_rowOfSource+channel))(R13)

// ONE is one lane of the source, R8, for four samples.
#define ONE(channel) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VBROADCASTSS (AX)(R8*4), X0 \
	CLAMP(X0) \
	VMOVUPS X0, (64*(const_rowOfSource+channel))(R13)

// THERE divides the bytes of the texels in X8 by 255: the sum of both products is the quotient, rounded once.
#define THERE(channel) \
	VPSHUFB (colorPlan_take+32*channel)(DI), X8, X0 \
	VCVTDQ2PS X0, X0 \
	VMULPS X10, X0, X1 \
	VFMADD231PS X12, X0, X1 \
	VMOVUPS X1, (64*(const_rowOfThere+channel))(R13)

// LINEAR looks up what sRGB's bytes of the texels in X8 are.
#define LINEAR(channel) \
	VPSHUFB (colorPlan_take+32*channel)(DI), X8, X0 \
	VPCMPEQD X2, X2, X2 \
	VGATHERDPS X2, (AX)(X0*4), X1 \
	VMOVUPS X1, (64*(const_rowOfThere+channel))(R13)

// BLENDED makes the texels in X9 of those in X8. Bits that aren't written stay.
#define BLENDED(read, again, done, linear) \
	THERE(0) \
	THERE(1) \
	THERE(2) \
	THERE(3) \
	MOVQ colorPlan_linear(DI), AX \
	TESTQ AX, AX \
	JEQ read \
	LINEAR(0) \
	LINEAR(1) \
	LINEAR(2) \
read: \
	FACTORS(again, done) \
	BLEND(0, X4) \
	BLEND(1, X5) \
	BLEND(2, X6) \
	BLEND(3, X7) \
	MADE(linear) \
	VPBROADCASTD colorPlan_mask(DI), X0 \
	VPXOR X8, X9, X9 \
	VPAND X0, X9, X9 \
	VPXOR X8, X9, X9

// The same for four quads: sixteen texels. CONSTANTS16 are 1 in Z16, 255 in Z17, 0.5 in Z18, 1/255 in Z19 and Z20, the
// mask in Z21, how bytes are put in Z22 to Z25, and taken in Z26 to Z29, and in Z30 how rows of pixels come first.
#define CONSTANTS16 \
	VBROADCASTSS scales<>+16(SB), Z16 \
	VBROADCASTSS scales<>+20(SB), Z17 \
	VBROADCASTSS scales<>+24(SB), Z18 \
	VBROADCASTSS scales<>+28(SB), Z19 \
	VBROADCASTSS scales<>+32(SB), Z20 \
	VPBROADCASTD colorPlan_mask(DI), Z21 \
	VBROADCASTI64X4 (colorPlan_put+0)(DI), Z22 \
	VBROADCASTI64X4 (colorPlan_put+32)(DI), Z23 \
	VBROADCASTI64X4 (colorPlan_put+64)(DI), Z24 \
	VBROADCASTI64X4 (colorPlan_put+96)(DI), Z25 \
	VBROADCASTI64X4 (colorPlan_take+0)(DI), Z26 \
	VBROADCASTI64X4 (colorPlan_take+32)(DI), Z27 \
	VBROADCASTI64X4 (colorPlan_take+64)(DI), Z28 \
	VBROADCASTI64X4 (colorPlan_take+96)(DI), Z29 \
	VMOVDQU64 rowsFirst<>(SB), Z30

#define CLAMP16(v) \
	VMAXPS Z11, v, v \
	VMINPS Z16, v, v

// PUT16 is PUT: the product and sum are exact but for what is cut off, and then all that is no integer is.
#define PUT16(put, v) \
	CLAMP16(v) \
	VFMADD213PS.RZ_SAE Z18, Z17, v \
	VCVTTPS2DQ v, v \
	VPSHUFB put, v, v \
	VPORD v, Z9, Z9

#define NONLINEAR16(v) \
	CLAMP16(v) \
	VMULPS.BCST scales<>+36(SB), v, Z4 \
	VCVTTPS2DQ Z4, Z4 \
	MOVQ colorPlan_firsts(DI), AX \
	KXNORW K1, K1, K1 \
	VPGATHERDD (AX)(Z4*4), K1, Z5 \
	MOVQ colorPlan_steps(DI), AX \
	KXNORW K1, K1, K1 \
	VGATHERDPS (AX)(Z5*4), K1, Z6 \
	VCMPPS $2, v, Z6, K1 \
	VPTERNLOGD $0xff, Z7, Z7, Z7 \
	VPSUBD Z7, Z5, K1, Z5 \
	VCVTDQ2PS Z5, v \
	VMULPS Z19, v, v

// MADE16 makes the sixteen texels in Z9 of the channels in Z0 to Z3.
#define MADE16(linear) \
	CMPQ colorPlan_firsts(DI), $0 \
	JEQ linear \
	NONLINEAR16(Z0) \
	NONLINEAR16(Z1) \
	NONLINEAR16(Z2) \
linear: \
	VPXORD Z9, Z9, Z9 \
	PUT16(Z22, Z0) \
	PUT16(Z23, Z1) \
	PUT16(Z24, Z2) \
	PUT16(Z25, Z3)

#define WORDS16(channel, v) \
	MOVQ (colorPlan_words+8*channel)(DI), AX \
	VMOVUPS (AX)(R8*4), v

#define SOURCE16(channel, v) \
	WORDS16(channel, v) \
	CLAMP16(v) \
	VMOVUPS v, (64*(const_rowOfSource+channel))(R13)

#define THERE16(channel, take, v, spare) \
	VPSHUFB take, Z8, spare \
	VCVTDQ2PS spare, spare \
	VMULPS Z20, spare, v \
	VFMADD231PS Z19, spare, v \
	VMOVUPS v, (64*(const_rowOfThere+channel))(R13)

#define LINEAR16(channel, take, v) \
	VPSHUFB take, Z8, Z10 \
	KXNORW K1, K1, K1 \
	VGATHERDPS (AX)(Z10*4), K1, v \
	VMOVUPS v, (64*(const_rowOfThere+channel))(R13)

#define FACTORS16(again, done) \
	MOVQ colorPlan_count(DI), AX \
	LEAQ colorPlan_factors(DI), R14 \
again: \
	SUBQ $1, AX \
	JCS done \
	MOVQ colorFactor_row(R14), R11 \
	VMOVUPS (R13)(R11*1), Z10 \
	VMULPS.BCST colorFactor_sign(R14), Z10, Z10 \
	VADDPS.BCST colorFactor_offset(R14), Z10, Z10 \
	MOVQ colorFactor_to(R14), R11 \
	VMOVUPS Z10, (R13)(R11*1) \
	ADDQ $colorFactor__size, R14 \
	JMP again \
done:

#define BLEND16(channel, source, there) \
	MOVQ (colorPlan_from+8*channel)(DI), AX \
	VMULPS (R13)(AX*1), source, source \
	MOVQ (colorPlan_to+8*channel)(DI), AX \
	VMULPS (R13)(AX*1), there, there \
	VADDPS there, source, source

// FOUR looks for four whole quads of one primitive, one beside the other.
#define FOUR(others) \
	CMPB colorPlan_wide(DI), $0 \
	JEQ others \
	CMPQ CX, $4 \
	JB others \
	MOVQ quad_x(SI), AX \
	LEAQ 2(AX), R14 \
	CMPQ R14, (quad__size+quad_x)(SI) \
	JNE others \
	LEAQ 4(AX), R14 \
	CMPQ R14, (2*quad__size+quad_x)(SI) \
	JNE others \
	LEAQ 6(AX), R14 \
	CMPQ R14, (3*quad__size+quad_x)(SI) \
	JNE others \
	MOVL quad_prim(SI), R14 \
	CMPL R14, (quad__size+quad_prim)(SI) \
	JNE others \
	CMPL R14, (2*quad__size+quad_prim)(SI) \
	JNE others \
	CMPL R14, (3*quad__size+quad_prim)(SI) \
	JNE others \
	MOVQ R9, AX \
	ANDQ (quad__size+quad_cover)(SI), AX \
	ANDQ (2*quad__size+quad_cover)(SI), AX \
	ANDQ (3*quad__size+quad_cover)(SI), AX \
	CMPQ AX, R10 \
	JNE others

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

// STORED16 makes the sixteen texels in Z9 from lane R8 on.
#define STORED16(linear) \
	WORDS16(0, Z0) \
	WORDS16(1, Z1) \
	WORDS16(2, Z2) \
	WORDS16(3, Z3) \
	MADE16(linear)

// func storeQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·storeQuadsAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS
	CMPB colorPlan_wide(DI), $0
	JEQ narrow
	CONSTANTS16

narrow:
	MOVQ $0x0001000100010001, R10

loop:
	COVERAGE
	JZ next
	PLACE
	FOUR(apart)
	STORED16(linear16)
	VPERMQ Z9, Z30, Z9
	VMOVDQU Y9, (BX)
	VEXTRACTI64X4 $1, Z9, (DX)
	ADDQ $16, R8
	ADDQ $(4*quad__size), SI
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET

apart: // four quads, wherever they are
	CMPB colorPlan_wide(DI), $0
	JEQ single
	CMPQ CX, $4
	JB single
	STORED16(linearApart)
	VMOVDQU64 Z9, (64*const_rowOfFactors)(R13)
	XORL R14, R14
	MOVL $3, AX // the pixels of the upper row
	KMOVB AX, K1
	MOVL $12, AX
	KMOVB AX, K2

each:
	COVERAGE
	JZ skip
	PLACE
	VMOVDQU (64*const_rowOfFactors)(R13)(R14*1), X9
	PEXTQ R10, R9, R9
	KMOVB R9, K3
	KANDB K1, K3, K4
	KANDB K2, K3, K5
	VMOVDQU32 X9, K4, (BX)
	VMOVDQU32 X9, K5, -8(DX)

skip:
	ADDQ $quad__size, SI
	ADDQ $16, R14
	CMPQ R14, $64
	JNE each
	ADDQ $16, R8
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET

single:
	WORDS(0, X4)
	WORDS(1, X5)
	WORDS(2, X6)
	WORDS(3, X7)
	MADE(linear)
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

parts:
	PARTS(second, third, fourth, next)
	JMP next

// func blendQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)
TEXT ·blendQuadsAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CONSTANTS
	CMPB colorPlan_wide(DI), $0
	JEQ narrow
	CONSTANTS16

narrow:
	MOVQ $0x0001000100010001, R10

loop:
	COVERAGE
	JZ next
	PLACE
	FOUR(single)
	VMOVDQU (BX), Y8
	VINSERTI64X4 $1, (DX), Z8, Z8
	SOURCE16(0, Z0)
	SOURCE16(1, Z1)
	SOURCE16(2, Z2)
	SOURCE16(3, Z3)
	VMOVDQU64 quadsFirst<>(SB), Z9
	VPERMQ Z8, Z9, Z8
	THERE16(0, Z26, Z4, Z10)
	THERE16(1, Z27, Z5, Z10)
	THERE16(2, Z28, Z6, Z10)
	THERE16(3, Z29, Z7, Z10)
	MOVQ colorPlan_linear(DI), AX
	TESTQ AX, AX
	JEQ read16
	LINEAR16(0, Z26, Z4)
	LINEAR16(1, Z27, Z5)
	LINEAR16(2, Z28, Z6)

read16:
	FACTORS16(again16, done16)
	BLEND16(0, Z0, Z4)
	BLEND16(1, Z1, Z5)
	BLEND16(2, Z2, Z6)
	BLEND16(3, Z3, Z7)
	MADE16(linear16)
	VPTERNLOGD $0xe4, Z21, Z8, Z9
	VPERMQ Z9, Z30, Z9
	VMOVDQU Y9, (BX)
	VEXTRACTI64X4 $1, Z9, (DX)
	VBROADCASTSS scales<>+32(SB), X10
	ADDQ $16, R8
	ADDQ $(4*quad__size), SI
	SUBQ $4, CX
	JNZ loop
	VZEROUPPER
	RET

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
	BLENDED(read, again, done, linear)
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
	CONSTANTS

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
	BLENDED(read, again, done, linear)
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
	CONSTANTS
	MOVQ $0x000f000f000f000f, R10

loop:
	COVERAGE
	JZ next
	PLACE
	WORDS(0, X4)
	WORDS(1, X5)
	WORDS(2, X6)
	WORDS(3, X7)
	MADE(linear)
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

// func prefetch(at *byte, bytes, rowPitch int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ at+0(FP), SI
	MOVQ bytes+8(FP), CX
	MOVQ rowPitch+16(FP), DX
	ADDQ SI, CX
	ANDQ $~63, SI

line:
	PREFETCHT0 (SI)
	PREFETCHT0 (SI)(DX*1)
	ADDQ $64, SI
	CMPQ SI, CX
	JCS line
	RET
