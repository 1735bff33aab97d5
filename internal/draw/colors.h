// What the ways to write colours on vectors have in common. DI has the plan, SI the quads, CX how many, R13 the rows of
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
