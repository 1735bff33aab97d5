#include "go_asm.h"
#include "textflag.h"

// The body behind every stub: spills the argument registers of the C calling convention into a Frame on
// the C stack and has dispatch read it. AX holds the command's index, set by the stub; R10 and R11 are
// free. crosscall2 saves the callee-saved registers itself.
//
// At entry SP is 8 below a multiple of 16, and so Frame__size is 8 more than one.
TEXT farside_entry(SB), NOSPLIT|NOFRAME, $0
	MOVQ ·guard(SB), R10
	CMPQ (R10), $0
	JEQ  forked

	SUBQ $Frame__size, SP
	MOVQ DI, (Frame_ints+0)(SP)
	MOVQ SI, (Frame_ints+8)(SP)
	MOVQ DX, (Frame_ints+16)(SP)
	MOVQ CX, (Frame_ints+24)(SP)
	MOVQ R8, (Frame_ints+32)(SP)
	MOVQ R9, (Frame_ints+40)(SP)
	MOVSD X0, (Frame_floats+0)(SP)
	MOVSD X1, (Frame_floats+8)(SP)
	MOVSD X2, (Frame_floats+16)(SP)
	MOVSD X3, (Frame_floats+24)(SP)
	MOVSD X4, (Frame_floats+32)(SP)
	MOVSD X5, (Frame_floats+40)(SP)
	MOVSD X6, (Frame_floats+48)(SP)
	MOVSD X7, (Frame_floats+56)(SP)
	LEAQ (Frame__size+8)(SP), R10 // behind the return address
	MOVQ R10, Frame_stack(SP)
	MOVQ AX, Frame_index(SP)
	MOVQ $0, Frame_lent(SP)
	MOVQ BP, (Frame_kept+0)(SP)
	MOVQ BX, (Frame_kept+8)(SP)

enter:
	MOVQ ·passed+Gate_Mark(SB), R10
	TESTQ R10, R10
	JEQ  entered
	BYTE $0x64; CMPB (R10), $0 // FS:
	JNE  nested
	MOVQ ·passed+Gate_Offset(SB), R11
	BYTE $0x64; CMPB (R11), $0
	JEQ  special
enrolled:
	BYTE $0x64; MOVB $1, (R10)
entered:
	MOVQ ·dispatchPC(SB), DI
	MOVQ SP, SI
	XORL DX, DX
	XORL CX, CX
	CALL crosscall2(SB)
	MOVQ ·passed+Gate_Mark(SB), R10
	TESTQ R10, R10
	JEQ  left
	BYTE $0x64; MOVB $0, (R10)
left:
	MOVQ Frame_lent(SP), DI
	TESTQ DI, DI
	JNE  lent
answered:
	MOVQ Frame_result(SP), AX
	ADDQ $Frame__size, SP
	RET

lent:
	MOVL $const_duplicateFD, SI
	MOVL $const_lowestFD, DX
	MOVL $72, AX // fcntl
	SYSCALL
	TESTQ AX, AX
	JLT  refused
	MOVQ Frame_into(SP), R10
	MOVL AX, (R10)
	JMP  answered
refused:
	MOVQ $const_unlendable, Frame_lent(SP)
	JMP  enter

special:
	MOVQ ·passed+Gate_Enrol(SB), R10
	CALL R10
	MOVQ ·passed+Gate_Mark(SB), R10
	JMP  enrolled

nested:
	// A signal handler calls, and has interrupted the thread in Go, which can't be entered twice.
	MOVQ Frame_index(SP), AX
	ADDQ $Frame__size, SP
	LEAQ ·resultKinds(SB), R8
	MOVBLZX (R8)(AX*1), R8
	XORL AX, AX
	CMPL R8, $const_kindResult
	JNE  done
	MOVL $const_errorUnknown, AX
	RET

forked:
	// Nothing of the Go runtime works here. The word behind the guard limits the message to one.
	LEAQ ·resultKinds(SB), R8
	MOVBLZX (R8)(AX*1), R8
	XORL AX, AX
	CMPL R8, $const_kindResult
	JNE  tell
	MOVL $const_errorUnknown, AX
tell:
	MOVL $1, R9
	XCHGQ R9, 8(R10)
	TESTQ R9, R9
	JNE  done
	MOVQ ·passed+Gate_Tell(SB), R10
	TESTQ R10, R10
	JEQ  done
	PUSHQ AX
	CALL R10
	POPQ AX
done:
	RET

// func stubsAddress() uintptr
TEXT ·stubsAddress(SB), NOSPLIT, $0-8
	LEAQ farside_stubs(SB), AX
	MOVQ AX, ret+0(FP)
	RET
