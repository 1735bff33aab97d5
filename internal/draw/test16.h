// The body of a test of sixteen pixels with one sample, eight of a row and eight of the row below, of which those in K1
// are covered. Their depths are in Z4 and Z5 and lie from R11 and R12 on, with 32 bits; their stencil values lie from
// R13 on. R15 has the plan, Z9 is zero, Z26 is 0.5
// and low24 24 bits. K3 has those that are left. What follows is at tested16.

// FLOAT and WHOLE compare depths.
#define FLOAT(how) \
	VCMPPS how, Z6, Z4, K2, K3 \
	JMP chosen

#define WHOLE(how) \
	VPCMPD how, Z6, Z4, K2, K3 \
	JMP chosen

// UNORM8 makes whole numbers in half of depths; NaN is 0.
#define UNORM8(from, half) \
	VMAXPD Z9, from, from \
	VMULPD.BCST depthPlan_scale(R15), from, from \
	VADDPD Z26, from, from \
	VCVTTPD2DQ from, half

// PASSES adds those to K2 that the stencil lets pass by a comparison.
#define PASSES(how, of) \
	VPCMPD how, Z1, Z2, K5, K3 \
	KMOVW of(AX), K0 \
	KANDW K0, K3, K3 \
	KORW K3, K2, K2

// MADE16 has what an operation of the face at AX makes of the stencil values in Z7.
#define MADE16(of, to) \
	VPANDD.BCST (of+stencilMade_and)(AX), Z7, to \
	VPXORD.BCST (of+stencilMade_xor)(AX), to, to \
	VPADDD.BCST (of+stencilMade_add)(AX), to, to \
	VPMAXSD.BCST (of+stencilMade_low)(AX), to, to \
	VPMINSD.BCST (of+stencilMade_high)(AX), to, to

	KMOVW K1, K5
	CMPB depthPlan_kind(R15), $const_depthNone
	JEQ bounded
	KSHIFTRW $8, K1, K2
	VMOVDQU32.Z (R11), K1, Y6
	VMOVDQU32.Z (R12), K2, Y7
	VINSERTI64X4 $1, Y7, Z6, Z6
	CMPB depthPlan_bounds(R15), $0
	JNE bounds

bounded:
	KMOVW K5, K2
	CMPB depthPlan_stencils(R15), $0
	JNE stencil

compared: // K2 has what the stencil lets pass
	KMOVW K2, K3
	MOVL depthPlan_compare(R15), AX
	CMPB depthPlan_kind(R15), $const_depth24
	JEQ wholes
	JLT chosen
	VCVTPD2PS Z4, Y4
	VCVTPD2PS Z5, Y5
	VINSERTI64X4 $1, Y5, Z4, Z4
	CMPL AX, $3
	JEQ floatLessEqual
	JLT floatBelow
	CMPL AX, $5
	JEQ floatNotEqual
	JLT floatGreater
	CMPL AX, $7
	JEQ chosen
	FLOAT($0x1d)

floatLessEqual:
	FLOAT($0x12)

floatNotEqual:
	FLOAT($0x04)

floatGreater:
	FLOAT($0x1e)

floatBelow:
	CMPL AX, $1
	JEQ floatLess
	JLT never
	FLOAT($0x00)

floatLess:
	FLOAT($0x11)

bounds:
	CMPB depthPlan_kind(R15), $const_depth24
	JEQ boundsOfWholes
	VCMPPS.BCST $0x15, depthPlan_boundLow(R15), Z6, K5, K5
	VCMPPS.BCST $0x1a, depthPlan_boundHigh(R15), Z6, K5, K5
	JMP bounded

boundsOfWholes:
	VPANDD.BCST low24<>(SB), Z6, Z6
	VPCMPD.BCST $5, depthPlan_boundLow(R15), Z6, K5, K5
	VPCMPD.BCST $2, depthPlan_boundHigh(R15), Z6, K5, K5
	JMP bounded

stencil:
	MOVQ depthPlan_stencilPitch(R15), AX
	KSHIFTRW $8, K5, K2
	VPMOVZXBD.Z (R13), K5, Y7
	VPMOVZXBD.Z (R13)(AX*1), K2, Y1
	VINSERTI64X4 $1, Y1, Z7, Z7
	MOVQ depthPlan_face(R15), AX
	VPANDD.BCST stencilFace_mask(AX), Z7, Z1
	VPBROADCASTD stencilFace_reference(AX), Z2
	KXORW K2, K2, K2
	PASSES($1, stencilFace_less)
	PASSES($0, stencilFace_equal)
	PASSES($6, stencilFace_greater)
	JMP compared

stencils: // where K5 was tested, K2 passed the comparison and K3 is left
	MOVQ depthPlan_face(R15), AX
	MADE16(stencilFace_fail, Z1)
	MADE16(stencilFace_depthFail, Z2)
	MADE16(stencilFace_pass, Z3)
	VMOVDQA32 Z2, K2, Z1
	VMOVDQA32 Z3, K3, Z1
	VPTERNLOGD.BCST $0xe4, stencilFace_write(AX), Z7, Z1
	VPMOVDB Z1, X1
	MOVQ depthPlan_stencilPitch(R15), AX
	KSHIFTLW $8, K5, K2
	KSHIFTRW $8, K2, K2
	VMOVDQU8 X1, K2, (R13)
	VPSRLDQ $8, X1, X1
	KSHIFTRW $8, K5, K2
	VMOVDQU8 X1, K2, (R13)(AX*1)
	JMP left

wholes:
	UNORM8(Z4, Y4)
	UNORM8(Z5, Y5)
	VINSERTI64X4 $1, Y5, Z4, Z4
	VPANDD.BCST low24<>(SB), Z6, Z6
	CMPL AX, $3
	JEQ wholeLessEqual
	JLT wholeBelow
	CMPL AX, $5
	JEQ wholeNotEqual
	JLT wholeGreater
	CMPL AX, $7
	JEQ chosen
	WHOLE($5)

wholeLessEqual:
	WHOLE($2)

wholeNotEqual:
	WHOLE($4)

wholeGreater:
	WHOLE($6)

wholeBelow:
	CMPL AX, $1
	JEQ wholeLess
	JLT never
	WHOLE($0)

wholeLess:
	WHOLE($1)

never:
	KXORW K3, K3, K3

chosen:
	CMPB depthPlan_stencilWrite(R15), $0
	JNE stencils

left:
	CMPB depthPlan_write(R15), $0
	JEQ tested16
	KSHIFTRW $8, K3, K2
	VMOVDQU32 Y4, K3, (R11)
	VMOVDQU32 Y5, K2, (R12)

tested16:
