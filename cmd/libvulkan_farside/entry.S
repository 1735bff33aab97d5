// The symbols that the loader looks up, and farside_verbs, by which the stand-in for libibverbs fills its table. Each
// goes by the gate to the Go function that it stands for.

#define UNKNOWN -13 /* VK_ERROR_UNKNOWN */

	.section .rodata
	.globl gate_message
	.hidden gate_message
gate_message:
	.ascii "farside: this process was forked after it loaded the Vulkan driver, which works only in the process "
	.ascii "that loaded it or after exec; every command fails with VK_ERROR_UNKNOWN, every verb with ENODEV\n"
	.set size, . - gate_message
	.balign 8
	.globl gate_message_size
	.hidden gate_message_size
gate_message_size:
	.quad size

	.text
// entry SYMBOL, GO FUNCTION, ANSWER OF A FORKED PROCESS
.macro entry name, target, answer
	.globl \name
	.type \name, %function
	.balign 16
\name:
#if defined(__x86_64__)
	endbr64
	movq \target@GOTPCREL(%rip), %rax
	movl $\answer, %r10d
	jmp gate
#elif defined(__aarch64__)
	hint #34 // bti c
	adrp x16, :got:\target
	ldr x16, [x16, :got_lo12:\target]
	mov w17, #\answer
	b gate
#endif
.endm

	entry vk_icdNegotiateLoaderICDInterfaceVersion, icd_negotiate, UNKNOWN
	entry vk_icdGetInstanceProcAddr, icd_instance_address, 0
	entry vk_icdGetPhysicalDeviceProcAddr, icd_physical_device_address, 0
	entry farside_verbs, verbs_fill, -1

	// For package cabi, which sets errno.
	.section .data.rel.ro, "aw"
	.balign 8
	.globl errno_address
	.hidden errno_address
errno_address:
	.quad __errno_location

	.section .note.GNU-stack, "", %progbits
