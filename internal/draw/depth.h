// What tests of depth and stencil are made of (depth_amd64.s).

// COMPARISON takes in the kind of depths, and what a comparison with them takes.
#define COMPARISON \
	MOVBLZX depthPlan_kind(DI), R11 \
	MOVBLZX depthPlan_write(DI), R12 \
	VPBROADCASTD depthPlan_unordered(DI), X4 \
	VPBROADCASTD depthPlan_less(DI), X5 \
	VPBROADCASTD depthPlan_equal(DI), X6 \
	VPBROADCASTD depthPlan_greater(DI), X7

#define ARGUMENTS \
	MOVQ p+0(FP), DI \
	MOVQ covers+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVQ depthPlan_at(DI), BX \
	COMPARISON \
	VBROADCASTSD depthPlan_x(DI), Y10 \
	VBROADCASTSD depthPlan_high(DI), Y11 \
	VBROADCASTSD depthPlan_low(DI), Y12 \
	VBROADCASTSD (depthPlan_z+plane_c)(DI), Y13 \
	VBROADCASTSD (depthPlan_z+plane_x)(DI), Y14 \
	VBROADCASTSD depthPlan_x0(DI), Y15 \
	MOVQ depthPlan_stencil(DI), R14 \
	LEAQ spread<>(SB), R13

// OF_QUADS is what rows of quads need besides.
#define OF_QUADS \
	MOVQ BX, DX \
	ADDQ depthPlan_rowPitch(DI), DX \
	MOVQ depthPlan_texelPitch(DI), R8 \
	SHLQ $1, R8 \
	MOVQ R14, R15 \
	ADDQ depthPlan_stencilPitch(DI), R15 \
	MOVQ $0x0001000100010001, R10 \
	VADDPD depthPlan_lanes(DI), Y10, Y10 \
	VMOVUPD depthPlan_lines(DI), Y9 \
	VBROADCASTSD steps<>+0(SB), Y8

// DEPTH makes four depths, Y0 pixels from the origin, where Y1 is what is added in their lines. NaN stays.
#define DEPTH(line) \
	VSUBPD Y15, Y0, Y0 \
	VMULPD Y14, Y0, Y0 \
	VADDPD Y0, Y13, Y0 \
	VADDPD line, Y0, Y0 \
	VMAXPD Y0, Y12, Y0 \
	VMINPD Y0, Y11, Y0

// UNORM makes whole numbers in X0 of depths; NaN is 0.
#define UNORM \
	VXORPD Y2, Y2, Y2 \
	VMAXPD Y2, Y0, Y0 \
	VBROADCASTSD depthPlan_scale(DI), Y2 \
	VMULPD Y2, Y0, Y0 \
	VBROADCASTSD steps<>+8(SB), Y2 \
	VADDPD Y2, Y0, Y0 \
	VCVTTPD2DQY Y0, X0

// FLOATS leaves in AX which of the depths in X0 pass: they are less, equal, greater than what is stored, in X1, or
// neither.
#define FLOATS \
	VCMPPS $0x11, X1, X0, X2 \
	VPAND X5, X2, X2 \
	VCMPPS $0x00, X1, X0, X3 \
	VPAND X6, X3, X3 \
	VPOR X3, X2, X2 \
	VCMPPS $0x1e, X1, X0, X3 \
	VPAND X7, X3, X3 \
	VPOR X3, X2, X2 \
	VCMPPS $0x03, X1, X0, X3 \
	VPAND X4, X3, X3 \
	VPOR X3, X2, X2 \
	VMOVMSKPS X2, AX

// WHOLES is FLOATS for numbers of at most 24 bits.
#define WHOLES \
	VPCMPGTD X0, X1, X2 \
	VPAND X5, X2, X2 \
	VPCMPEQD X1, X0, X3 \
	VPAND X6, X3, X3 \
	VPOR X3, X2, X2 \
	VPCMPGTD X1, X0, X3 \
	VPAND X7, X3, X3 \
	VPOR X3, X2, X2 \
	VMOVMSKPS X2, AX

// FLOATS_BOUNDED leaves in AX which of the stored depths in X1 are within bounds.
#define FLOATS_BOUNDED \
	VBROADCASTSS depthPlan_boundLow(DI), X2 \
	VCMPPS $0x15, X2, X1, X3 \
	VBROADCASTSS depthPlan_boundHigh(DI), X2 \
	VCMPPS $0x1a, X2, X1, X2 \
	VPAND X3, X2, X2 \
	VMOVMSKPS X2, AX

// WHOLES_BOUNDED is the same for whole numbers.
#define WHOLES_BOUNDED \
	VPBROADCASTD depthPlan_boundLow(DI), X2 \
	VPCMPGTD X1, X2, X3 \
	VPBROADCASTD depthPlan_boundHigh(DI), X2 \
	VPCMPGTD X2, X1, X2 \
	VPOR X3, X2, X2 \
	VMOVMSKPS X2, AX \
	XORL $15, AX

#define LOW24 \
	VPBROADCASTD steps<>+16(SB), X2 \
	VPAND X2, X1, X1

// LOAD loads those of four depths whose bits are set.
#define LOAD(bits, b1, b2, b3, insert, m0, m1, m2, m3, l1, l2, l3, done) \
	VPXOR X1, X1, X1 \
	BTQ $0, bits \
	JCC l1 \
	insert $0, m0, X1, X1 \
l1: \
	BTQ $b1, bits \
	JCC l2 \
	insert $1, m1, X1, X1 \
l2: \
	BTQ $b2, bits \
	JCC l3 \
	insert $2, m2, X1, X1 \
l3: \
	BTQ $b3, bits \
	JCC done \
	insert $3, m3, X1, X1

// STORE stores those of X0.
#define STORE(bits, b1, b2, b3, extract, m0, m1, m2, m3, l1, l2, l3, done) \
	BTQ $0, bits \
	JCC l1 \
	extract $0, X0, m0 \
l1: \
	BTQ $b1, bits \
	JCC l2 \
	extract $1, X0, m1 \
l2: \
	BTQ $b2, bits \
	JCC l3 \
	extract $2, X0, m2 \
l3: \
	BTQ $b3, bits \
	JCC done \
	extract $3, X0, m3

// MADE has what an operation makes of the stencil values in X1.
#define MADE(of, to) \
	VPAND (of+stencilMade_and)(AX), X1, to \
	VPXOR (of+stencilMade_xor)(AX), to, to \
	VPADDD (of+stencilMade_add)(AX), to, to \
	VPMAXSD (of+stencilMade_low)(AX), to, to \
	VPMINSD (of+stencilMade_high)(AX), to, to

// COMPARED leaves in AX which of the bytes in X1 pass, and keeps both.
#define COMPARED \
	VPMOVZXBD X1, X1 \
	MOVQ depthPlan_face(DI), AX \
	VMOVDQU X1, values-24(SP) \
	VPAND stencilFace_mask(AX), X1, X1 \
	VMOVDQU stencilFace_reference(AX), X2 \
	VPCMPGTD X2, X1, X3 \
	VPAND stencilFace_less(AX), X3, X3 \
	VPCMPEQD X2, X1, X0 \
	VPAND stencilFace_equal(AX), X0, X0 \
	VPOR X0, X3, X3 \
	VPCMPGTD X1, X2, X2 \
	VPAND stencilFace_greater(AX), X2, X2 \
	VPOR X2, X3, X3 \
	VMOVDQU X3, passed-40(SP) \
	VMOVMSKPS X3, AX

// CHANGED makes new bytes in X0 of what was kept; words in X2 are not zero for what passes all tests.
#define CHANGED \
	MOVQ depthPlan_face(DI), AX \
	VPMOVZXWD X2, X2 \
	VPXOR X3, X3, X3 \
	VPCMPGTD X3, X2, X2 \
	VMOVDQU values-24(SP), X1 \
	MADE(stencilFace_fail, X0) \
	MADE(stencilFace_depthFail, X3) \
	VPXOR X0, X3, X3 \
	VPAND passed-40(SP), X3, X3 \
	VPXOR X3, X0, X0 \
	MADE(stencilFace_pass, X3) \
	VBLENDVPS X2, X3, X0, X0 \
	VPXOR X1, X0, X0 \
	VPAND stencilFace_write(AX), X0, X0 \
	VPXOR X1, X0, X0 \
	VPACKUSDW X0, X0, X0 \
	VPACKUSWB X0, X0, X0
