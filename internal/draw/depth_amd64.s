#include "go_asm.h"
#include "textflag.h"

// Four bits as the covers of a quad's pixels.
DATA spread<>+0(SB)/8, $0x0000000000000000
DATA spread<>+8(SB)/8, $0x0000000000000001
DATA spread<>+16(SB)/8, $0x0000000000010000
DATA spread<>+24(SB)/8, $0x0000000000010001
DATA spread<>+32(SB)/8, $0x0000000100000000
DATA spread<>+40(SB)/8, $0x0000000100000001
DATA spread<>+48(SB)/8, $0x0000000100010000
DATA spread<>+56(SB)/8, $0x0000000100010001
DATA spread<>+64(SB)/8, $0x0001000000000000
DATA spread<>+72(SB)/8, $0x0001000000000001
DATA spread<>+80(SB)/8, $0x0001000000010000
DATA spread<>+88(SB)/8, $0x0001000000010001
DATA spread<>+96(SB)/8, $0x0001000100000000
DATA spread<>+104(SB)/8, $0x0001000100000001
DATA spread<>+112(SB)/8, $0x0001000100010000
DATA spread<>+120(SB)/8, $0x0001000100010001
GLOBL spread<>(SB), RODATA|NOPTR, $128

// 2, 0.5, 0xffffff, 1
DATA steps<>+0(SB)/8, $2.0
DATA steps<>+8(SB)/8, $0.5
DATA steps<>+16(SB)/8, $0xffffff
DATA steps<>+24(SB)/8, $1.0
GLOBL steps<>(SB), RODATA|NOPTR, $32

#define ARGUMENTS \
	MOVQ p+0(FP), DI \
	MOVQ covers+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVQ depthPlan_at(DI), BX \
	MOVBLZX depthPlan_kind(DI), R11 \
	MOVBLZX depthPlan_write(DI), R12 \
	VPBROADCASTD depthPlan_unordered(DI), X4 \
	VPBROADCASTD depthPlan_less(DI), X5 \
	VPBROADCASTD depthPlan_equal(DI), X6 \
	VPBROADCASTD depthPlan_greater(DI), X7 \
	VBROADCASTSD depthPlan_x(DI), Y10 \
	VBROADCASTSD depthPlan_high(DI), Y11 \
	VBROADCASTSD depthPlan_low(DI), Y12 \
	VBROADCASTSD (depthPlan_z+plane_c)(DI), Y13 \
	VBROADCASTSD (depthPlan_z+plane_x)(DI), Y14 \
	VBROADCASTSD depthPlan_x0(DI), Y15

// OF_QUADS is what rows of quads need besides.
#define OF_QUADS \
	MOVQ BX, DX \
	ADDQ depthPlan_rowPitch(DI), DX \
	MOVQ depthPlan_texelPitch(DI), R8 \
	SHLQ $1, R8 \
	LEAQ spread<>(SB), R13 \
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

// testQuad tests the depths in Y0 of a quad whose covers are in R9, and writes them. BX and DX are where its rows are,
// AX has the covers that are left. What ARGUMENTS leaves in R11, R12, X4 to X7 and DI counts, R10 has the covers of all
// pixels, and R13 spread.
TEXT testQuad<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL R11, $const_depth16
	JEQ short
	CMPQ R9, R10
	JNE some
	VMOVQ (BX), X1
	VMOVHPS (DX), X1, X1

loaded:
	CMPL R11, $const_depth24
	JEQ whole
	VCVTPD2PSY Y0, X0
	FLOATS

chosen:
	MOVQ (R13)(AX*8), AX
	ANDQ R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	CMPQ AX, R10
	JNE parts
	VMOVQ X0, (BX)
	VMOVHPS X0, (DX)

done:
	RET

some:
	LOAD(R9, 16, 32, 48, VPINSRD, (BX), 4(BX), (DX), 4(DX), load1, load2, load3, loaded)
	JMP loaded

whole:
	UNORM
	LOW24
	WHOLES
	JMP chosen

parts:
	STORE(AX, 16, 32, 48, VPEXTRD, (BX), 4(BX), (DX), 4(DX), store1, store2, store3, done)
	RET

short:
	UNORM
	CMPQ R9, R10
	JNE shortSome
	VMOVD (BX), X1
	VPINSRD $1, (DX), X1, X1

shortLoaded:
	VPMOVZXWD X1, X1
	WHOLES
	MOVQ (R13)(AX*8), AX
	ANDQ R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	VPACKUSDW X0, X0, X0
	CMPQ AX, R10
	JNE shortParts
	VMOVD X0, (BX)
	VPEXTRD $1, X0, (DX)
	RET

shortSome:
	LOAD(R9, 16, 32, 48, VPINSRW, (BX), 2(BX), (DX), 2(DX), short1, short2, short3, shortLoaded)
	JMP shortLoaded

shortParts:
	STORE(AX, 16, 32, 48, VPEXTRW, (BX), 2(BX), (DX), 2(DX), word1, word2, word3, done)
	RET

// func testQuadsAVX2(p *depthPlan, covers *[4]uint16, n int)
TEXT ·testQuadsAVX2(SB), NOSPLIT, $8-24
	ARGUMENTS
	OF_QUADS

loop:
	MOVQ (SI), R9
	TESTQ R9, R9
	JZ next
	VMOVAPD Y10, Y0
	DEPTH(Y9)
	CALL testQuad<>(SB)
	MOVQ AX, (SI)

next:
	VADDPD Y8, Y10, Y10
	ADDQ R8, BX
	ADDQ R8, DX
	ADDQ $8, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// The centres of a quad's pixels.
DATA lateColumns<>+0(SB)/8, $0.5
DATA lateColumns<>+8(SB)/8, $1.5
DATA lateColumns<>+16(SB)/8, $0.5
DATA lateColumns<>+24(SB)/8, $1.5
GLOBL lateColumns<>(SB), RODATA|NOPTR, $32

DATA lateLines<>+0(SB)/8, $0.5
DATA lateLines<>+8(SB)/8, $0.5
DATA lateLines<>+16(SB)/8, $1.5
DATA lateLines<>+24(SB)/8, $1.5
GLOBL lateLines<>(SB), RODATA|NOPTR, $32

// LIMIT has a limit of the primitive at DX, clamped to two others.
#define LIMIT(of, within, to) \
	VBROADCASTSD of(DX), to \
	VBROADCASTSD within(R15), Y2 \
	VMAXPD Y2, to, to \
	VBROADCASTSD (within+8)(R15), Y2 \
	VMINPD Y2, to, to

// LATE takes in the arguments of the tests of shaded quads: R8 is where the lanes are.
#define LATE \
	MOVQ p+0(FP), R15 \
	LEAQ latePlan_depthPlan(R15), DI \
	MOVQ quads+8(FP), SI \
	MOVQ n+16(FP), CX \
	MOVBLZX depthPlan_kind(DI), R11 \
	MOVBLZX depthPlan_write(DI), R12 \
	VPBROADCASTD depthPlan_unordered(DI), X4 \
	VPBROADCASTD depthPlan_less(DI), X5 \
	VPBROADCASTD depthPlan_equal(DI), X6 \
	VPBROADCASTD depthPlan_greater(DI), X7 \
	XORL R8, R8

// TEXELS finds the primitive of a quad, its limits, and where the first pixel's depth is.
#define TEXELS \
	MOVLQSX quad_prim(SI), DX \
	IMULQ $prim__size, DX \
	ADDQ prims+24(FP), DX \
	MOVL prim_layer(DX), BX \
	IMULQ latePlan_layerPitch(R15), BX \
	ADDQ latePlan_texel(R15), BX \
	MOVLQSX quad_y(SI), AX \
	IMULQ depthPlan_rowPitch(DI), AX \
	ADDQ AX, BX \
	MOVLQSX quad_x(SI), AX \
	IMULQ depthPlan_texelPitch(DI), AX \
	ADDQ AX, BX \
	LIMIT(prim_low, latePlan_lows, Y12) \
	LIMIT(prim_high, latePlan_highs, Y11)

// AXIS is how far the pixels of a quad are from the primitive's origin, times the slope of its depths.
#define AXIS(field, centres, origin, slope, x, to) \
	VCVTSI2SDL field(SI), x, x \
	VBROADCASTSD x, to \
	VADDPD centres, to, to \
	VBROADCASTSD origin(DX), Y2 \
	VSUBPD Y2, to, to \
	VBROADCASTSD slope(DX), Y2 \
	VMULPD Y2, to, to

// func testLateAVX2(p *latePlan, quads *quad, n int, prims *prim) int
TEXT ·testLateAVX2(SB), NOSPLIT, $16-40
	LATE
	LEAQ spread<>(SB), R13
	MOVQ $0x0001000100010001, R10
	XORL R14, R14 // samples

loop:
	MOVQ quad_cover(SI), R9
	TESTQ R9, R9
	JZ next
	TEXELS
	MOVQ latePlan_depths(R15), AX
	TESTQ AX, AX
	JZ plane
	VCVTPS2PD (AX)(R8*1), Y0

limited:
	VMAXPD Y0, Y12, Y0
	VMINPD Y0, Y11, Y0
	MOVQ BX, DX
	ADDQ depthPlan_rowPitch(DI), DX
	CALL testQuad<>(SB)
	MOVQ AX, quad_cover(SI)
	POPCNTQ AX, AX
	ADDQ AX, R14

next:
	ADDQ $quad__size, SI
	ADDQ $16, R8
	DECQ CX
	JNZ loop
	MOVQ R14, ret+32(FP)
	VZEROUPPER
	RET

plane:
	VXORPD X0, X0, X0
	VXORPD X1, X1, X1
	AXIS(quad_x, lateColumns<>(SB), prim_x0, (prim_z+plane_x), X0, Y0)
	AXIS(quad_y, lateLines<>(SB), prim_y0, (prim_z+plane_y), X1, Y1)
	VBROADCASTSD (prim_z+plane_c)(DX), Y2
	VADDPD Y0, Y2, Y0
	VADDPD Y1, Y0, Y0
	JMP limited

// The lower halves of four words.
DATA lowHalves<>+0(SB)/8, $0x0d0c090805040100
DATA lowHalves<>+8(SB)/8, $0x8080808080808080
GLOBL lowHalves<>(SB), RODATA|NOPTR, $16

// KEPT leaves in AX the samples of a quad that are in the lower halves of the words in X0.
#define KEPT \
	VPSHUFB lowHalves<>(SB), X0, X0 \
	VMOVQ X0, BX \
	ANDQ BX, AX

// func aliveAVX2(p *latePlan, quads *quad, n int, lanes *uint8) int
TEXT ·aliveAVX2(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), R15
	MOVQ quads+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ lanes+24(FP), DI
	MOVQ latePlan_masks(R15), R11
	MOVQ latePlan_alphas(R15), R12
	VXORPD Y7, Y7, Y7
	VBROADCASTSD latePlan_all(R15), Y6
	VBROADCASTSD steps<>+8(SB), Y5
	VBROADCASTSD steps<>+24(SB), Y4
	VPCMPEQD X3, X3, X3
	VPSRLD $31, X3, X2 // 1
	LEAQ spread<>(SB), R13
	XORL DX, DX // samples
	XORL R8, R8 // whether the quad is the second of a byte
	XORL R10, R10

loop:
	MOVBLZX (DI), AX
	MOVL AX, BX
	SHRL $4, BX
	TESTL R8, R8
	CMOVLNE BX, AX
	ANDL $15, AX
	MOVQ (R13)(AX*8), AX
	IMULQ $0xffff, AX
	ANDQ quad_cover(SI), AX
	TESTQ R11, R11
	JZ unmasked
	VMOVDQU (R11)(R10*1), X0
	KEPT

unmasked:
	TESTQ R12, R12
	JZ alive
	VCVTPS2PD (R12)(R10*1), Y0
	VMAXPD Y7, Y0, Y0 // NaN is 0
	VMINPD Y4, Y0, Y0
	VMULPD Y6, Y0, Y0
	VADDPD Y5, Y0, Y0
	VCVTTPD2DQY Y0, X0
	VPSLLVD X0, X2, X0
	VPADDD X3, X0, X0
	KEPT

alive:
	MOVQ AX, quad_cover(SI)
	POPCNTQ AX, AX
	ADDQ AX, DX
	ADDQ $16, R10
	ADDQ R8, DI
	XORL $1, R8
	ADDQ $quad__size, SI
	DECQ CX
	JNZ loop
	MOVQ DX, ret+32(FP)
	VZEROUPPER
	RET

// testPixel is testQuad for a pixel of two or four samples, whose bits are in R9.
TEXT testPixel<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL R11, $const_depth16
	JEQ short
	CMPL R9, $15
	JNE some
	VMOVDQU (BX), X1

loaded:
	CMPL R11, $const_depth24
	JEQ whole
	VCVTPD2PSY Y0, X0
	FLOATS

chosen:
	ANDL R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	CMPL AX, $15
	JNE parts
	VMOVDQU X0, (BX)

done:
	RET

some:
	LOAD(R9, 1, 2, 3, VPINSRD, (BX), 4(BX), 8(BX), 12(BX), load1, load2, load3, loaded)
	JMP loaded

whole:
	UNORM
	LOW24
	WHOLES
	JMP chosen

parts:
	STORE(AX, 1, 2, 3, VPEXTRD, (BX), 4(BX), 8(BX), 12(BX), store1, store2, store3, done)
	RET

short:
	UNORM
	CMPL R9, $15
	JNE shortSome
	VMOVQ (BX), X1

shortLoaded:
	VPMOVZXWD X1, X1
	WHOLES
	ANDL R9, AX
	JZ done
	TESTL R12, R12
	JZ done
	VPACKUSDW X0, X0, X0
	CMPL AX, $15
	JNE shortParts
	VMOVQ X0, (BX)
	RET

shortSome:
	LOAD(R9, 1, 2, 3, VPINSRW, (BX), 2(BX), 4(BX), 6(BX), short1, short2, short3, shortLoaded)
	JMP shortLoaded

shortParts:
	STORE(AX, 1, 2, 3, VPEXTRW, (BX), 2(BX), 4(BX), 6(BX), word1, word2, word3, done)
	RET

// func testSamplesAVX2(p *depthPlan, covers *[4]uint16, n int)
TEXT ·testSamplesAVX2(SB), NOSPLIT, $8-24
	ARGUMENTS
	VBROADCASTSD steps<>+0(SB), Y8
	XORL R10, R10 // the pixel of the quad

loop:
	MOVWLZX (SI), R9
	TESTL R9, R9
	JZ next
	MOVQ R10, R8
	SHLQ $5, R8
	VADDPD (depthPlan_lanes)(DI)(R8*1), Y10, Y0
	VMOVUPD (depthPlan_lines)(DI)(R8*1), Y9
	DEPTH(Y9)
	CALL testPixel<>(SB)
	MOVW AX, (SI)

next:
	ADDQ (depthPlan_steps)(DI)(R10*8), BX
	ADDQ $2, SI
	INCQ R10
	ANDQ $3, R10
	JNZ loop
	VADDPD Y8, Y10, Y10
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func testLateSamplesAVX2(p *latePlan, quads *quad, n int, prims *prim) int
TEXT ·testLateSamplesAVX2(SB), NOSPLIT, $16-40
	LATE
	XORL R14, R14 // samples

loop:
	MOVQ quad_cover(SI), R9
	TESTQ R9, R9
	JZ nextQuad
	TEXELS
	XORL R10, R10 // the pixel

pixel:
	MOVWLZX quad_cover(SI)(R10*2), R9
	TESTL R9, R9
	JZ next
	MOVQ latePlan_depths(R15), AX
	TESTQ AX, AX
	JZ plane
	ADDQ R8, AX
	VBROADCASTSS (AX)(R10*4), X0
	VCVTPS2PD X0, Y0

limited:
	VMAXPD Y0, Y12, Y0
	VMINPD Y0, Y11, Y0
	CALL testPixel<>(SB)
	MOVW AX, quad_cover(SI)(R10*2)
	POPCNTL AX, AX
	ADDQ AX, R14

next:
	ADDQ depthPlan_steps(DI)(R10*8), BX
	INCQ R10
	CMPQ R10, $4
	JNE pixel

nextQuad:
	ADDQ $quad__size, SI
	ADDQ $16, R8
	DECQ CX
	JNZ loop
	MOVQ R14, ret+32(FP)
	VZEROUPPER
	RET

plane:
	MOVQ R10, AX
	SHLQ $5, AX
	VXORPD X0, X0, X0
	VXORPD X1, X1, X1
	AXIS(quad_x, (depthPlan_lanes)(DI)(AX*1), prim_x0, (prim_z+plane_x), X0, Y0)
	AXIS(quad_y, (latePlan_rows)(R15)(AX*1), prim_y0, (prim_z+plane_y), X1, Y1)
	VBROADCASTSD (prim_z+plane_c)(DX), Y2
	VADDPD Y0, Y2, Y0
	VADDPD Y1, Y0, Y0
	JMP limited

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

// func stencilQuadsAVX2(p *depthPlan, covers *[4]uint16, n int)
TEXT ·stencilQuadsAVX2(SB), NOSPLIT, $56-24
	ARGUMENTS
	OF_QUADS
	MOVQ depthPlan_stencil(DI), R14
	MOVQ depthPlan_stencilPitch(DI), R15
	ADDQ R14, R15

loop:
	MOVQ (SI), R9
	TESTQ R9, R9
	JZ next
	MOVQ R9, cover-8(SP)
	LOAD(R9, 16, 32, 48, VPINSRB, (R14), 1(R14), (R15), 1(R15), load1, load2, load3, loaded)

loaded:
	COMPARED
	MOVQ (R13)(AX*8), AX
	ANDQ R9, AX
	JZ tested
	CMPL R11, $const_depthNone
	JEQ tested
	MOVQ AX, R9
	VMOVAPD Y10, Y0
	DEPTH(Y9)
	CALL testQuad<>(SB)

tested:
	MOVQ AX, (SI)
	CMPB depthPlan_stencilWrite(DI), $0
	JEQ next
	VMOVQ AX, X2
	CHANGED
	MOVQ cover-8(SP), R9
	STORE(R9, 16, 32, 48, VPEXTRB, (R14), 1(R14), (R15), 1(R15), store1, store2, store3, next)

next:
	VADDPD Y8, Y10, Y10
	ADDQ R8, BX
	ADDQ R8, DX
	ADDQ $2, R14
	ADDQ $2, R15
	ADDQ $8, SI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func stencilSamplesAVX2(p *depthPlan, covers *[4]uint16, n int)
TEXT ·stencilSamplesAVX2(SB), NOSPLIT, $56-24
	ARGUMENTS
	VBROADCASTSD steps<>+0(SB), Y8
	LEAQ spread<>(SB), R13
	MOVQ depthPlan_stencil(DI), R14
	XORL R10, R10 // the pixel of the quad

loop:
	MOVWLZX (SI), R9
	TESTL R9, R9
	JZ next
	MOVQ R9, cover-8(SP)
	LOAD(R9, 1, 2, 3, VPINSRB, (R14), 1(R14), 2(R14), 3(R14), load1, load2, load3, loaded)

loaded:
	COMPARED
	ANDL R9, AX
	JZ tested
	CMPL R11, $const_depthNone
	JEQ tested
	MOVL AX, R9
	MOVQ R10, R8
	SHLQ $5, R8
	VADDPD (depthPlan_lanes)(DI)(R8*1), Y10, Y0
	VMOVUPD (depthPlan_lines)(DI)(R8*1), Y9
	DEPTH(Y9)
	CALL testPixel<>(SB)

tested:
	MOVW AX, (SI)
	CMPB depthPlan_stencilWrite(DI), $0
	JEQ next
	VMOVQ (R13)(AX*8), X2
	CHANGED
	MOVQ cover-8(SP), R9
	STORE(R9, 1, 2, 3, VPEXTRB, (R14), 1(R14), 2(R14), 3(R14), store1, store2, store3, next)

next:
	ADDQ (depthPlan_steps)(DI)(R10*8), BX
	ADDQ (depthPlan_stencilSteps)(DI)(R10*8), R14
	ADDQ $2, SI
	INCQ R10
	ANDQ $3, R10
	JNZ loop
	VADDPD Y8, Y10, Y10
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET
