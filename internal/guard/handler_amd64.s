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

// The handler of SIGSEGV: DI is the signal, SI siginfo_t, DX ucontext_t. A second thread that faults meanwhile sleeps,
// as the first is going to end the process.
TEXT ·handler(SB), NOSPLIT|NOFRAME, $0
	MOVQ ·desk(SB), R8
	MOVQ 16(SI), R9 // si_addr
	CMPQ R9, LOW(R8)
	JCS  chain
	CMPQ R9, HIGH(R8)
	JCC  chain
	MOVQ 168(DX), R10 // RIP
	CMPQ R10, TEXTBEGIN(R8)
	JCS  ask
	CMPQ R10, TEXTEND(R8)
	JCS  chain
ask:
	PUSHQ DI
	PUSHQ SI
	PUSHQ DX
	PUSHQ R8
	XORL AX, AX
	MOVL $1, CX
	LOCK
	CMPXCHGL CX, STATE(R8)
	JNE  busy
	MOVL $0, ANSWERED(R8)
	MOVQ R9, ADDRESS(R8)
	MOVQ DX, CONTEXT(R8)
	MOVL $2, CX
	XCHGL CX, STATE(R8)
	LEAQ STATE(R8), DI
	MOVL $129, SI // FUTEX_WAKE, private
	MOVL $1, DX
	MOVL $202, AX // futex
	SYSCALL
	MOVQ (SP), R8
	LEAQ ANSWERED(R8), DI
	MOVL $128, SI // FUTEX_WAIT, private
	XORL DX, DX
	LEAQ PATIENCE(R8), R10
	MOVL $202, AX
	SYSCALL
	JMP  answered
busy:
	LEAQ PATIENCE(R8), DI
	XORL SI, SI
	MOVL $35, AX // nanosleep
	SYSCALL
answered:
	POPQ R8
	POPQ DX
	POPQ SI
	POPQ DI
chain:
	MOVQ PREVIOUS(R8), AX
	CMPQ AX, $1 // SIG_DFL or SIG_IGN
	JLS  default
	JMP  AX
default:
	// The access is made again, and the default action follows.
	LEAQ STANDARD(R8), SI
	XORL DX, DX
	MOVL $8, R10
	MOVL $13, AX // rt_sigaction
	SYSCALL
	RET

TEXT ·restorer(SB), NOSPLIT|NOFRAME, $0
	MOVL $15, AX // rt_sigreturn
	SYSCALL
	INT  $3

TEXT ·handlerAddress(SB), NOSPLIT, $0-8
	LEAQ ·handler(SB), AX
	MOVQ AX, ret+0(FP)
	RET

TEXT ·restorerAddress(SB), NOSPLIT, $0-8
	LEAQ ·restorer(SB), AX
	MOVQ AX, ret+0(FP)
	RET
