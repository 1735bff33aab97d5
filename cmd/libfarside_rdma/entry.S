// The symbols of farside_rdma.h. Each goes by the gate to the Go function that it stands for.

#define FORKED 19 /* FARSIDE_FATAL_ERR */

	.section .rodata
	.globl gate_message
	.hidden gate_message
gate_message:
	.ascii "farside: this process was forked after it loaded libfarside_rdma, which works only in the process "
	.ascii "that loaded it or after exec; every function fails with FARSIDE_FATAL_ERR\n"
	.set size, . - gate_message
text:
	.asciz "process was forked after it loaded libfarside_rdma"
	.balign 8
	.globl gate_message_size
	.hidden gate_message_size
gate_message_size:
	.quad size

	.text
.macro symbol name
	.globl farside_\name
	.type farside_\name, %function
	.balign 16
farside_\name:
#if defined(__x86_64__)
	endbr64
	movq rdma_\name@GOTPCREL(%rip), %rax
#elif defined(__aarch64__)
	hint #34 // bti c
	adrp x16, :got:rdma_\name
	ldr x16, [x16, :got_lo12:rdma_\name]
#endif
.endm

// integer FUNCTION, and what a forked process gets
.macro integer name, answer=FORKED
	symbol \name
#if defined(__x86_64__)
	movl $\answer, %r10d
	jmp gate
#elif defined(__aarch64__)
	mov w17, #\answer
	b gate
#endif
.endm

.macro pointer name, answer
	symbol \name
#if defined(__x86_64__)
	leaq \answer(%rip), %r10
	jmp gate
#elif defined(__aarch64__)
	adrp x17, \answer
	add x17, x17, :lo12:\answer
	b gate
#endif
.endm

	integer peer_open
	integer peer_close
	integer read
	integer write
	integer fetch_add64
	integer compare_swap64
	integer post
	integer poll, -FORKED
	integer reset
	pointer status_string, text

	.section .note.GNU-stack, "", %progbits
