#include "textflag.h"

// func call(code, file, slots, mask unsafe.Pointer, first, end uintptr) (rest uintptr)
//
// The code uses no stack and leaves RSP, RBP and R14 alone. So what is on top of the stack while it runs is the way
// back here, which the runtime needs to make a panic of a fault.
TEXT ·call(SB), 0, $8-56
	MOVQ code+0(FP), AX
	MOVQ file+8(FP), DI
	MOVQ slots+16(FP), R8
	MOVQ mask+24(FP), R13
	MOVQ first+32(FP), SI
	MOVQ end+40(FP), R15
	CALL AX
	MOVQ AX, rest+48(FP)
	RET
