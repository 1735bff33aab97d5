#include "go_asm.h"
#include "textflag.h"

#define CONSTANT(i) (rowPlan_constants+64*i)(DI)

#define ROW(of, to) \
	MOVBLZX of(SI), to \
	MOVQ (rowPlan_rows)(DI)(to*8), to

#define NUMBER(i, v) VBROADCASTSS (step_numbers+4*i)(SI), v

#define IS(op, label) \
	CMPQ R12, op \
	JEQ label

#define NEXT(label) \
	VMOVUPS V0, (R9)(R11*1) \
	ADDQ $WIDTH, R11 \
	CMPQ R11, R8 \
	JB label \
	JMP done

#define LOAD(from, v) VMOVUPS (from)(R11*1), v

// CLAMPED is a number of V0 within V8 and V9; NaN becomes 0.
#define CLAMPED \
	MATCH($7, V0, V0) \
	KEEP(V0) \
	VMAXPS V8, V0, V0 \
	VMINPS V9, V0, V0

// QUIET puts V8's bits of a NaN in V0 into one that is quiet.
#define QUIET \
	MATCH($3, V0, V0) \
	AND(V8, V0, V1) \
	OR(CONSTANT(const_constantQuiet), V1, V1) \
	PICK(V1, V0)

// What follows is for vectors of 256 bits. The lanes that MATCH finds are in Y15.
#define WIDTH 32
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13
#define AND(a, b, to) VPAND a, b, to
#define OR(a, b, to) VPOR a, b, to
#define XOR(a, b, to) VPXOR a, b, to
#define MOVE(from, to) VMOVDQA from, to
#define MATCH(how, b, a) VCMPPS how, b, a, Y15
#define KEEP(v) VPAND Y15, v, v
#define PICK(other, v) VBLENDVPS Y15, other, v, v
#define COUNT(v) VPSUBD Y15, v, v
#define FLOOR(v) VROUNDPS $1, v, v
#define PREPARE

#define LOOKUP(table, at, to) \
	VPCMPEQD Y14, Y14, Y14 \
	VPGATHERDD Y14, (table)(at*4), to

// SINGLES makes floats of 32 bits of those of 16 in V0, HALVES the other way.
#define SINGLES \
	VEXTRACTI128 $1, Y0, X1 \
	VPACKUSDW X1, X0, X0 \
	VCVTPH2PS X0, Y0

#define HALVES \
	VCVTPS2PH $0, Y0, X0 \
	VPMOVZXWD X0, Y0

// func stepsAVX2(p *rowPlan, lanes int)
TEXT ·stepsAVX2(SB), NOSPLIT, $0-16
#include "steps.h"

#undef WIDTH
#undef V0
#undef V1
#undef V2
#undef V3
#undef V4
#undef V8
#undef V9
#undef V10
#undef V11
#undef V12
#undef V13
#undef AND
#undef OR
#undef XOR
#undef MOVE
#undef MATCH
#undef KEEP
#undef PICK
#undef COUNT
#undef FLOOR
#undef PREPARE
#undef LOOKUP
#undef SINGLES
#undef HALVES

// The same for vectors of 512 bits. The lanes that MATCH finds are in K1; all bits of Z15 are set.
#define WIDTH 64
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13
#define AND(a, b, to) VPANDD a, b, to
#define OR(a, b, to) VPORD a, b, to
#define XOR(a, b, to) VPXORD a, b, to
#define MOVE(from, to) VMOVDQA32 from, to
#define MATCH(how, b, a) VCMPPS how, b, a, K1
#define KEEP(v) VMOVDQA32.Z v, K1, v
#define PICK(other, v) VMOVDQA32 other, K1, v
#define COUNT(v) VPSUBD Z15, v, K1, v
#define FLOOR(v) VRNDSCALEPS $1, v, v
#define PREPARE VPTERNLOGD $0xff, Z15, Z15, Z15

#define LOOKUP(table, at, to) \
	KXNORW K2, K2, K2 \
	VPGATHERDD (table)(at*4), K2, to

#define SINGLES \
	VPMOVDW Z0, Y0 \
	VCVTPH2PS Y0, Z0

#define HALVES \
	VCVTPS2PH $0, Z0, Y0 \
	VPMOVZXWD Y0, Z0

// func stepsAVX512(p *rowPlan, lanes int)
TEXT ·stepsAVX512(SB), NOSPLIT, $0-16
#include "steps.h"
