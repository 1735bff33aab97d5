#include "funcdata.h"
#include "textflag.h"

// The frames hold nothing. Their size makes the assembler's prologue grow the stack.

// func Run(f func())
TEXT ·Run(SB), 0, $65536-8 // held
	NO_LOCAL_POINTERS
	BL   ·room(SB)
	MOVD f+0(FP), R0
	MOVD R0, 8(RSP)
	BL   ·call(SB)
	RET

// func room()
TEXT ·room(SB), 0, $131072-0 // Room
	RET

// func grow()
TEXT ·grow(SB), 0, $196608-0 // held and Room
	RET

// func swap(offset uintptr, to byte) byte
TEXT ·swap(SB), NOSPLIT, $0-17
	MOVD offset+0(FP), R0
	MRS  TPIDR_EL0, R1
	ADD  R1, R0
	MOVBU to+8(FP), R2
	MOVBU (R0), R3
	MOVB R2, (R0)
	MOVB R3, ret+16(FP)
	RET

// func goroutine() uintptr
TEXT ·goroutine(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET
