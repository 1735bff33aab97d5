// The symbols that the library exports. Each looks whether the process was forked without exec after it had
// loaded the library: then the Go runtime has no threads, nothing of it may be called, and the answer is
// given here. Otherwise it goes on to the Go function, with the arguments where they are. Before Go has set
// rdma_guard, the Go function itself waits for the runtime.

#define FORKED 19 /* FARSIDE_FATAL_ERR */

	.section .rodata
message:
	.ascii "farside: this process was forked after it loaded libfarside_rdma, which works only in the process "
	.ascii "that loaded it or after exec; every function fails with FARSIDE_FATAL_ERR\n"
	.set message_size, . - message
text:
	.asciz "process was forked after it loaded libfarside_rdma"

	.bss
	.balign 8
	.globl rdma_guard
	.hidden rdma_guard
	.type rdma_guard, %object
	.size rdma_guard, 8
rdma_guard:
	.zero 8

	.text
#if defined(__x86_64__)

.macro entry name
	.globl farside_\name
	.type farside_\name, %function
	.balign 16
farside_\name:
	endbr64
	movq rdma_guard(%rip), %r11
	testq %r11, %r11
	jz 1f
	cmpq $0, (%r11)
	je 2f
1:	jmp rdma_\name@PLT
2:
.endm

.macro integer value
	movl $\value, %r10d
	jmp forked
.endm

.macro pointer label
	leaq \label(%rip), %r10
	jmp forked
.endm

// forked returns r10, and writes the message if the word behind the guard says that it isn't out.
forked:
	movl $1, %eax
	xchgq %rax, 8(%r11)
	testq %rax, %rax
	jnz 1f
	movl $1, %eax // write
	movl $2, %edi
	leaq message(%rip), %rsi
	movl $message_size, %edx
	syscall
1:	movq %r10, %rax
	ret

#elif defined(__aarch64__)

.macro entry name
	.globl farside_\name
	.type farside_\name, %function
	.balign 16
farside_\name:
	hint #34 // bti c
	adrp x16, rdma_guard
	ldr x16, [x16, :lo12:rdma_guard]
	cbz x16, 1f
	ldr x17, [x16]
	cbz x17, 2f
1:	b rdma_\name
2:
.endm

.macro integer value
	mov x9, #\value
	b forked
.endm

.macro pointer label
	adrp x9, \label
	add x9, x9, :lo12:\label
	b forked
.endm

// forked returns x9, and writes the message if the word behind the guard says that it isn't out.
forked:
	add x16, x16, #8
	mov x17, #1
1:	ldaxr x10, [x16]
	stxr w11, x17, [x16]
	cbnz w11, 1b
	cbnz x10, 2f
	mov x8, #64 // write
	mov x0, #2
	adrp x1, message
	add x1, x1, :lo12:message
	mov x2, #message_size
	svc #0
2:	mov x0, x9
	ret

#else
#error "no entry points for this architecture"
#endif

	entry peer_open
	integer FORKED
	entry peer_close
	integer FORKED
	entry read
	integer FORKED
	entry write
	integer FORKED
	entry fetch_add64
	integer FORKED
	entry compare_swap64
	integer FORKED
	entry post
	integer FORKED
	entry poll
	integer -FORKED
	entry reset
	integer FORKED
	entry status_string
	pointer text

	.section .note.GNU-stack, "", %progbits
