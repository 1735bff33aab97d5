#include "go_asm.h"
#include "textflag.h"

// The body behind every stub: spills the argument registers of the C calling convention into a Frame on
// the C stack and has dispatch read it. R9 holds the command's index, set by the stub; R10 to R15 are
// free. crosscall2 saves the callee-saved registers itself. Addresses of variables are taken before they
// are read, because a direct read goes through R27, which belongs to the caller.
//
// RSP stays a multiple of 16: Frame__size is 184 and the link register fills the last word.
TEXT farside_entry(SB), NOSPLIT|NOFRAME, $0
	MOVD $·guard(SB), R10
	MOVD (R10), R10
	MOVD (R10), R11
	CBZ  R11, forked

	SUB  $(Frame__size+8), RSP
	MOVD R30, Frame__size(RSP)
	STP  (R0, R1), (Frame_ints+0)(RSP)
	STP  (R2, R3), (Frame_ints+16)(RSP)
	STP  (R4, R5), (Frame_ints+32)(RSP)
	STP  (R6, R7), (Frame_ints+48)(RSP)
	FSTPD (F0, F1), (Frame_floats+0)(RSP)
	FSTPD (F2, F3), (Frame_floats+16)(RSP)
	FSTPD (F4, F5), (Frame_floats+32)(RSP)
	FSTPD (F6, F7), (Frame_floats+48)(RSP)
	ADD  $(Frame__size+8), RSP, R10
	MOVD R10, Frame_stack(RSP)
	MOVD R9, Frame_index(RSP)
	MOVD ZR, Frame_lent(RSP)
	STP  (R29, R30), (Frame_kept+0)(RSP)

enter:
	MOVD $·passed(SB), R10
	MOVD Gate_Mark(R10), R11
	CBZ  R11, entered
	MRS  TPIDR_EL0, R12
	ADD  R12, R11
	MOVBU (R11), R13
	CBNZ R13, nested
	MOVD Gate_Offset(R10), R13
	ADD  R12, R13
	MOVBU (R13), R13
	CBZ  R13, special
enrolled:
	MOVD $1, R12
	MOVB R12, (R11)
entered:
	MOVD $·dispatchPC(SB), R0
	MOVD (R0), R0
	MOVD RSP, R1
	MOVD ZR, R2
	MOVD ZR, R3
	BL   crosscall2(SB)
	MOVD $·passed(SB), R10
	MOVD Gate_Mark(R10), R11
	CBZ  R11, left
	MRS  TPIDR_EL0, R12
	ADD  R12, R11
	MOVB ZR, (R11)
left:
	MOVD Frame_lent(RSP), R0
	CBNZ R0, lent
answered:
	MOVD Frame_result(RSP), R0
	MOVD Frame__size(RSP), R30
	ADD  $(Frame__size+8), RSP
	RET

lent:
	MOVD $const_duplicateFD, R1
	MOVD $const_lowestFD, R2
	MOVD $25, R8 // fcntl
	SVC
	CMP  ZR, R0
	BLT  refused
	MOVD Frame_into(RSP), R10
	MOVW R0, (R10)
	B    answered
refused:
	MOVD $const_unlendable, R10
	MOVD R10, Frame_lent(RSP)
	B    enter

special:
	MOVD Gate_Enrol(R10), R10
	BL   (R10)
	MOVD $·passed(SB), R10
	MOVD Gate_Mark(R10), R11
	MRS  TPIDR_EL0, R12
	ADD  R12, R11
	B    enrolled

nested:
	// A signal handler calls, and has interrupted the thread in Go, which can't be entered twice.
	MOVD Frame_index(RSP), R9
	MOVD Frame__size(RSP), R30
	ADD  $(Frame__size+8), RSP
	MOVD $·resultKinds(SB), R12
	MOVBU (R12)(R9), R12
	MOVD ZR, R0
	CMP  $const_kindResult, R12
	BNE  done
	MOVW $const_errorUnknown, R0
	RET

forked:
	// Nothing of the Go runtime works here. The word behind the guard limits the message to one.
	MOVD $·resultKinds(SB), R12
	MOVBU (R12)(R9), R12
	MOVD ZR, R0
	CMP  $const_kindResult, R12
	BNE  tell
	MOVW $const_errorUnknown, R0
tell:
	MOVD 8(R10), R11
	CBNZ R11, done
	MOVD $1, R11
	MOVD R11, 8(R10)
	MOVD $·passed(SB), R10
	MOVD Gate_Tell(R10), R10
	CBZ  R10, done
	SUB  $16, RSP
	MOVD R0, (RSP)
	MOVD R30, 8(RSP)
	BL   (R10)
	MOVD (RSP), R0
	MOVD 8(RSP), R30
	ADD  $16, RSP
done:
	RET

// func stubsAddress() uintptr
TEXT ·stubsAddress(SB), NOSPLIT, $0-8
	MOVD $farside_stubs(SB), R0
	MOVD R0, ret+0(FP)
	RET
