#include "funcdata.h"
#include "textflag.h"

// The frames hold nothing. Their size makes the assembler's prologue grow the stack.

// func Run(f func())
TEXT ·Run(SB), 0, $65536-8 // held
	NO_LOCAL_POINTERS
	CALL ·room(SB)
	MOVQ f+0(FP), AX
	MOVQ AX, 0(SP)
	CALL ·call(SB)
	RET

// func room()
TEXT ·room(SB), 0, $131072-0 // Room
	RET

// func grow()
TEXT ·grow(SB), 0, $196608-0 // held and Room
	RET

// func swap(offset uintptr, to byte) byte
TEXT ·swap(SB), NOSPLIT, $0-17
	MOVQ offset+0(FP), R10
	MOVB to+8(FP), AX
	BYTE $0x64; XCHGB AX, (R10) // FS:
	MOVB AX, ret+16(FP)
	RET

// func goroutine() uintptr
TEXT ·goroutine(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
