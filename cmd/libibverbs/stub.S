// The macros of the generated stubs.
//
//   function STUB, SLOT, ANSWER   goes on to the address in its slot; before there is one, to farside_resolve
//   constant STUB, VALUE          returns a number
//   datum STUB                    is one byte of data, 0
//   slots N                       the table of addresses, and the end of that of answers; the names follow
//   name NAME

#define NULL 0
#define ERRNO 1
#define MINUS 2
#define NEGATIVE 3
#define NOTHING 4
#define ENOSYS 38

	.section .rodata
	.balign 8
	.globl farside_answers // a byte for each slot: what the function returns without an engine
	.hidden farside_answers
farside_answers:
	.text

.macro function stub, slot, answer
	.pushsection .rodata
	.byte \answer
	.popsection
	.globl \stub
	.type \stub, %function
	.balign 16
\stub:
#if defined(__x86_64__)
	endbr64
	movq farside_slots + 8 * \slot(%rip), %rax
	testq %rax, %rax
	movl $\slot, %r11d
	jz first
	jmp *%rax
#elif defined(__aarch64__)
	hint #34 // bti c
	adrp x16, farside_slots + 8 * \slot
	ldr x16, [x16, :lo12:farside_slots + 8 * \slot]
	mov w17, #\slot
	cbz x16, first
	br x16
#endif
	.size \stub, . - \stub
.endm

.macro constant stub, value
	.globl \stub
	.type \stub, %function
	.balign 16
\stub:
#if defined(__x86_64__)
	endbr64
	movl $\value, %eax
#elif defined(__aarch64__)
	hint #34 // bti c
	mov w0, #\value
#endif
	ret
	.size \stub, . - \stub
.endm

.macro datum stub
	.pushsection .bss
	.globl \stub
	.type \stub, %object
	.size \stub, 1
\stub:
	.zero 1
	.popsection
.endm

.macro slots n
	.section .bss
	.balign 8
	.globl farside_slots
	.hidden farside_slots
farside_slots:
	.zero 8 * \n
	.section .rodata
	.balign 8
	.globl farside_slots_number
	.hidden farside_slots_number
farside_slots_number:
	.quad \n
	.section .data.rel.ro, "aw"
	.balign 8
	.globl farside_names
	.hidden farside_names
farside_names:
.endm

.macro name text
	.pushsection .rodata.str1.1, "aMS", %progbits, 1
1:	.asciz "\text"
	.popsection
	.quad 1b
.endm

// first fills the slots, with the arguments kept, and calls again.
	.type first, %function
first:
#if defined(__x86_64__)
	pushq %rdi
	pushq %rsi
	pushq %rdx
	pushq %rcx
	pushq %r8
	pushq %r9
	pushq %r11
	call farside_resolve
	popq %r11
	popq %r9
	popq %r8
	popq %rcx
	popq %rdx
	popq %rsi
	popq %rdi
	leaq farside_slots(%rip), %rax
	jmp *(%rax,%r11,8)
#elif defined(__aarch64__)
	stp x29, x30, [sp, #-96]!
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x17, [sp, #80]
	bl farside_resolve
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x17, [sp, #80]
	ldp x29, x30, [sp], #96
	adrp x16, farside_slots
	add x16, x16, :lo12:farside_slots
	ldr x16, [x16, x17, lsl #3]
	br x16
#endif
