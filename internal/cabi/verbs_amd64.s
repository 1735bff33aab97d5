#include "go_asm.h"
#include "textflag.h"

// The body behind the stubs of verbs; farside_entry has the reasons. AX holds the verb's index.
//
// At entry SP is 8 below a multiple of 16, and so Call__size is 8 more than one.
TEXT farside_verbs_entry(SB), NOSPLIT|NOFRAME, $0
	MOVQ ·guard(SB), R10
	CMPQ (R10), $0
	JEQ  forked

	SUBQ $Call__size, SP
	MOVQ DI, (Call_Args+0)(SP)
	MOVQ SI, (Call_Args+8)(SP)
	MOVQ DX, (Call_Args+16)(SP)
	MOVQ CX, (Call_Args+24)(SP)
	MOVQ R8, (Call_Args+32)(SP)
	MOVQ R9, (Call_Args+40)(SP)
	MOVQ AX, Call_index(SP)
	MOVQ BP, (Call_kept+0)(SP)
	MOVQ BX, (Call_kept+8)(SP)
	MOVQ $0, Call_Result(SP)
	MOVQ $0, Call_Errno(SP)

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
	MOVQ ·verbsPC(SB), DI
	MOVQ SP, SI
	XORL DX, DX
	XORL CX, CX
	CALL crosscall2(SB)
	MOVQ ·passed+Gate_Mark(SB), R10
	TESTQ R10, R10
	JEQ  left
	BYTE $0x64; MOVB $0, (R10)
left:
	CMPQ Call_Errno(SP), $0
	JEQ  answered
	MOVQ ·passed+Gate_Errno(SB), R10
	TESTQ R10, R10
	JEQ  answered
	CALL R10
	MOVL Call_Errno(SP), R10
	MOVL R10, (AX)
answered:
	MOVQ Call_Result(SP), AX
	ADDQ $Call__size, SP
	RET

special:
	MOVQ ·passed+Gate_Enrol(SB), R10
	CALL R10
	MOVQ ·passed+Gate_Mark(SB), R10
	JMP  enrolled

nested:
	ADDQ $Call__size, SP
	MOVL $1, R9 // the message of a forked process isn't for it
	JMP  refuse

forked:
	MOVL $1, R9
	XCHGQ R9, 8(R10)
refuse:
	LEAQ ·verbsForked(SB), R8
	SHLQ $4, AX
	ADDQ AX, R8
	PUSHQ R8
	TESTQ R9, R9
	JNE  told
	MOVQ ·passed+Gate_Tell(SB), R10
	TESTQ R10, R10
	JEQ  told
	CALL R10
told:
	MOVQ (SP), R8
	CMPQ 8(R8), $0
	JEQ  done
	MOVQ ·passed+Gate_Errno(SB), R10
	TESTQ R10, R10
	JEQ  done
	CALL R10
	MOVQ (SP), R8
	MOVL 8(R8), R9
	MOVL R9, (AX)
done:
	POPQ R8
	MOVQ (R8), AX
	RET

// func verbsStubsAddress() uintptr
TEXT ·verbsStubsAddress(SB), NOSPLIT, $0-8
	LEAQ farside_verbs_stubs(SB), AX
	MOVQ AX, ret+0(FP)
	RET
