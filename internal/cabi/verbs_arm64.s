#include "go_asm.h"
#include "textflag.h"

// The body behind the stubs of verbs; farside_entry has the reasons. R9 holds the verb's index.
//
// RSP stays a multiple of 16: Call__size is 104 and the link register fills the last word.
TEXT farside_verbs_entry(SB), NOSPLIT|NOFRAME, $0
	MOVD $·guard(SB), R10
	MOVD (R10), R10
	MOVD (R10), R11
	CBZ  R11, forked

	SUB  $(Call__size+8), RSP
	MOVD R30, Call__size(RSP)
	STP  (R0, R1), (Call_Args+0)(RSP)
	STP  (R2, R3), (Call_Args+16)(RSP)
	STP  (R4, R5), (Call_Args+32)(RSP)
	STP  (R6, R7), (Call_Args+48)(RSP)
	MOVD R9, Call_index(RSP)
	STP  (R29, R30), Call_kept(RSP)
	MOVD ZR, Call_Result(RSP)
	MOVD ZR, Call_Errno(RSP)

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
	MOVD $·verbsPC(SB), R0
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
	MOVD Call_Errno(RSP), R10
	CBZ  R10, answered
	MOVD $·passed(SB), R10
	MOVD Gate_Errno(R10), R10
	CBZ  R10, answered
	BL   (R10)
	MOVD Call_Errno(RSP), R10
	MOVW R10, (R0)
answered:
	MOVD Call_Result(RSP), R0
	MOVD Call__size(RSP), R30
	ADD  $(Call__size+8), RSP
	RET

special:
	MOVD Gate_Enrol(R10), R10
	BL   (R10)
	MOVD $·passed(SB), R10
	MOVD Gate_Mark(R10), R11
	MRS  TPIDR_EL0, R12
	ADD  R12, R11
	B    enrolled

nested:
	MOVD Call_index(RSP), R9
	MOVD Call__size(RSP), R30
	ADD  $(Call__size+8), RSP
	MOVD $·verbsForked(SB), R12
	ADD  R9<<4, R12
	SUB  $16, RSP
	MOVD R12, (RSP)
	MOVD R30, 8(RSP)
	B    told

forked:
	MOVD $·verbsForked(SB), R12
	ADD  R9<<4, R12
	SUB  $16, RSP
	MOVD R12, (RSP)
	MOVD R30, 8(RSP)
	MOVD 8(R10), R11
	CBNZ R11, told
	MOVD $1, R11
	MOVD R11, 8(R10)
	MOVD $·passed(SB), R10
	MOVD Gate_Tell(R10), R10
	CBZ  R10, told
	BL   (R10)
told:
	MOVD (RSP), R12
	MOVD 8(R12), R11
	CBZ  R11, done
	MOVD $·passed(SB), R10
	MOVD Gate_Errno(R10), R10
	CBZ  R10, done
	BL   (R10)
	MOVD (RSP), R12
	MOVD 8(R12), R11
	MOVW R11, (R0)
done:
	MOVD (RSP), R12
	MOVD (R12), R0
	MOVD 8(RSP), R30
	ADD  $16, RSP
	RET

// func verbsStubsAddress() uintptr
TEXT ·verbsStubsAddress(SB), NOSPLIT, $0-8
	MOVD $farside_verbs_stubs(SB), R0
	MOVD R0, ret+0(FP)
	RET
