// What writes texels of four bytes (colors_amd64.s, samples_amd64.s).

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
