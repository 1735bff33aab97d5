#include "textflag.h"

// The offsets of table.
#define LOW 0
#define HIGH 8
#define TEXTBEGIN 16
#define TEXTEND 24
#define PREVIOUS 32
#define STATE 40
#define ANSWERED 44
#define ADDRESS 48
#define CONTEXT 56
#define PATIENCE 64
#define STANDARD 80

// The handler of SIGSEGV: R0 is the signal, R1 siginfo_t, R2 ucontext_t. A second thread that faults meanwhile sleeps,
// as the first is going to end the process.
TEXT ·handler(SB), NOSPLIT|NOFRAME, $0
	MOVD $·desk(SB), R9
	MOVD (R9), R9
	MOVD 16(R1), R10 // si_addr
	MOVD LOW(R9), R11
	CMP  R11, R10
	BLO  chain
	MOVD HIGH(R9), R11
	CMP  R11, R10
	BHS  chain
	MOVD 440(R2), R12 // pc
	MOVD TEXTBEGIN(R9), R11
	CMP  R11, R12
	BLO  ask
	MOVD TEXTEND(R9), R11
	CMP  R11, R12
	BLO  chain
ask:
	SUB  $48, RSP
	STP  (R0, R1), 0(RSP)
	STP  (R2, R30), 16(RSP)
	MOVD R9, 32(RSP)
	ADD  $STATE, R9, R11
	MOVD $1, R12
take:
	LDAXRW (R11), R13
	CBNZ R13, busy
	STLXRW R12, (R11), R14
	CBNZ R14, take
	MOVW ZR, ANSWERED(R9)
	MOVD R10, ADDRESS(R9)
	MOVD R2, CONTEXT(R9)
	MOVD $2, R12
	STLRW R12, (R11)
	MOVD R11, R0
	MOVD $129, R1 // FUTEX_WAKE, private
	MOVD $1, R2
	MOVD $98, R8 // futex
	SVC
	MOVD 32(RSP), R9
	ADD  $ANSWERED, R9, R0
	MOVD $128, R1 // FUTEX_WAIT, private
	MOVD ZR, R2
	ADD  $PATIENCE, R9, R3
	MOVD $98, R8
	SVC
	B    answered
busy:
	ADD  $PATIENCE, R9, R0
	MOVD ZR, R1
	MOVD $101, R8 // nanosleep
	SVC
answered:
	LDP  0(RSP), (R0, R1)
	LDP  16(RSP), (R2, R30)
	MOVD 32(RSP), R9
	ADD  $48, RSP
chain:
	MOVD PREVIOUS(R9), R11
	CMP  $1, R11 // SIG_DFL or SIG_IGN
	BLS  default
	JMP  (R11)
default:
	// The access is made again, and the default action follows.
	ADD  $STANDARD, R9, R1
	MOVD ZR, R2
	MOVD $8, R3
	MOVD $134, R8 // rt_sigaction
	SVC
	RET

TEXT ·restorer(SB), NOSPLIT|NOFRAME, $0
	RET

TEXT ·handlerAddress(SB), NOSPLIT, $0-8
	MOVD $·handler(SB), R0
	MOVD R0, ret+0(FP)
	RET

TEXT ·restorerAddress(SB), NOSPLIT, $0-8
	MOVD ZR, ret+0(FP)
	RET
