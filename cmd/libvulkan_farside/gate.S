// The gate between C and Go, of both libraries. Package internal/gate says what it is for.
//
//   gate          every exported symbol ends here, with the Go function that it stands for
//   gate_enrol    readies a thread for its first call into Go
//   gate_tell     writes the message of a forked process
//   gate_urgent   the handler of SIGURG, before Go's and that of the application
//   gate_leave    readies a thread for its last destructors
//   gate_before, gate_after   constructors around the one that starts the Go runtime
//   gate_end      a destructor, for what package gate's AtExit was given
//
// A library has beside it an entry.S with its symbols, the texts gate_message and gate_message_size, and Go functions
// gate_enter and gate_exit.

// Signals that no thread blocks: package gate's unblocked.
#define SYNCHRONOUS 0x3800084d8
#define URGENT 0x400000
#define SIGURG 23
#define SI_TKILL -6
#define BITS_UNBLOCKABLE 0x40100 /* SIGKILL, SIGSTOP */
#define SS_DISABLE 2
#define GUARD_SIZE 4096
#define PROT_READ_WRITE 3
#define MAP_PRIVATE_ANONYMOUS 0x22
#define MADV_WIPEONFORK 18
#define BIT_SIGPIPE 0x1000
#define BIT_SIGXFSZ 0x1000000
#define BIT_SIGTTOU 0x200000

// Go's runtime.sigtable: 65 of {flags int32, name string}. Its name is no symbol that C's linker sees, and Go's linker
// refuses it to other packages; so gate_before looks for the lengths of its names.
#define SIGTABLE_ENTRIES 65
#define SIGTABLE_STRIDE 24
#define SIGTABLE_LENGTH 16
#define SIG_UNBLOCK 128
#define SIGCHLD_AT (17 * SIGTABLE_STRIDE)
#define SIGCHLD_FLAGS 385 /* notify, unblock, ignore */
#define SIGPROF_AT (27 * SIGTABLE_STRIDE)
#define SIGPROF_FLAGS 129 /* notify, unblock */

	.section .rodata
	.balign 8
blockable: // signal 33 least of all: setuid(2) of another thread waits for each thread to take it
	.quad ~SYNCHRONOUS
most:
	.quad ~(SYNCHRONOUS | URGENT)
raised:
	.quad BIT_SIGPIPE | BIT_SIGXFSZ | BIT_SIGTTOU
zero:
	.quad 0, 0
lengths:
	.byte 16, 28, 17, 13, 27, 19, 14, 17, 32, 13, 30, 31, 30, 29, 20, 20, 22, 33, 17, 26, 22, 33, 32, 34, 27, 33
	.byte 30, 30, 28, 23, 29, 23, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9
	.byte 9, 9, 9, 9, 9
	.set lengths_size, . - lengths

	.hidden _DYNAMIC
	.hidden _edata

	.bss
	.balign 8
	.globl gate_guard // a word that gate_before makes, until Go sets package gate's Guard
	.hidden gate_guard
	.type gate_guard, %object
	.size gate_guard, 8
gate_guard:
	.zero 8
mask: // the loading thread's, while the Go runtime starts
	.zero 8
action: // struct sigaction of the kernel: handler, flags, restorer, mask
	.zero 32
preempt: // Go's handler of SIGURG, with which the runtime interrupts a thread that is long in Go
	.zero 8
earlier: // the handler of SIGURG that was there before, or 0
	.zero 8
chained: // 1: that is gate_urgent of another library, whose runtime interrupts threads by the same signal
	.zero 8
key: // of pthread_key_create(3), made when the first thread is enrolled, and so behind the Go runtime's
	.zero 8
once: // pthread_once_t
	.zero 8
stderr: // the file that was descriptor 2 then: device and inode, or 0
	.zero 16

	.section .tbss, "awT", %nobits
	.balign 8
enrolled: // 1: gate_enrol has seen the thread
	.zero 8
kept: // the thread's mask when it was enrolled
	.zero 8

	// 1 while the thread is in Go: see package gate's Outside. All libraries of a process share it, also those that
	// dlopen(3) keeps apart: the dynamic linker has one definition of a unique symbol.
	.section .tbss.farside_in_go, "awT", %nobits
	.globl farside_in_go
	.type farside_in_go, %gnu_unique_object
	.size farside_in_go, 1
farside_in_go:
	.zero 1

	.section .init_array.00101, "aw", %init_array
	.balign 8
	.quad gate_before
	.section .init_array, "aw", %init_array
	.balign 8
	.quad gate_after
	.section .fini_array, "aw", %fini_array
	.balign 8
	.quad gate_end

	// For package cabi, whose stubs don't pass by gate.
	.section .data.rel.ro, "aw"
	.balign 8
	.globl gate_enrol_address
	.hidden gate_enrol_address
gate_enrol_address:
	.quad gate_enrol
	.globl gate_tell_address
	.hidden gate_tell_address
gate_tell_address:
	.quad gate_tell

	.text
#if defined(__x86_64__)

#define SYS_WRITE 1
#define SYS_FSTAT 5
#define SYS_POLL 7
#define SYS_MMAP 9
#define SYS_RT_SIGACTION 13
#define SYS_RT_SIGPROCMASK 14
#define SYS_MADVISE 28
#define SYS_GETPID 39
#define SYS_RT_SIGTIMEDWAIT 128
#define SYS_SIGALTSTACK 131

// urgent is sigaction(2) of SIGURG, with action to set or to get.
.macro urgent new, old
	movl $SIGURG, %edi
	movq \new, %rsi
	movq \old, %rdx
	movl $8, %r10d
	movl $SYS_RT_SIGACTION, %eax
	syscall
.endm

.macro sigmask how, new, old
	movl $\how, %edi
	leaq \new, %rsi
	leaq \old, %rdx
	movl $8, %r10d
	movl $SYS_RT_SIGPROCMASK, %eax
	syscall
.endm

// gate calls the Go function in rax with the arguments, which are all in registers. In a forked process it returns r10,
// and so it does for a signal handler that has interrupted the thread in Go, of this library or of another one.
// A Go function that is called before the Go runtime has started waits for it.
	.globl gate
	.hidden gate
	.type gate, %function
gate:
	movq gate_guard(%rip), %r11
	testq %r11, %r11
	jz 1f
	cmpq $0, (%r11)
	je 3f
1:	movq farside_in_go@gottpoff(%rip), %r11
	cmpb $0, %fs:(%r11)
	jne 6f
	movq enrolled@gottpoff(%rip), %r11
	cmpb $0, %fs:(%r11)
	je 5f
2:	movq farside_in_go@gottpoff(%rip), %r11
	movb $1, %fs:(%r11)
	subq $8, %rsp
	call *%rax
	addq $8, %rsp
	movq farside_in_go@gottpoff(%rip), %r11
	movb $0, %fs:(%r11)
	ret
5:	pushq %rax
	call gate_enrol
	popq %rax
	jmp 2b
6:	movq %r10, %rax
	ret
3:	pushq %r10
	movl $1, %eax
	xchgq %rax, 8(%r11)
	testq %rax, %rax
	jnz 4f
	call gate_tell
4:	popq %rax
	ret

// gate_enrol keeps the registers of arguments. The thread's signals are blocked until it has room for handlers; then
// its mask is as before, but Go needs the signals of its own errors.
	.type gate_enrol, %function
gate_enrol:
	pushq %rdi
	pushq %rsi
	pushq %rdx
	pushq %rcx
	pushq %r8
	pushq %r9
	subq $40, %rsp // the mask, stack_t
	sigmask 2, blockable(%rip), (%rsp)
	xorl %edi, %edi
	leaq 8(%rsp), %rsi
	movl $SYS_SIGALTSTACK, %eax
	syscall
	movl 16(%rsp), %edi
	andl $2, %edi // SS_DISABLE
	call gate_enter@PLT
	movq blockable(%rip), %rax
	andq %rax, (%rsp)
	movl $2, %edi
	movq %rsp, %rsi
	xorl %edx, %edx
	movl $8, %r10d
	movl $SYS_RT_SIGPROCMASK, %eax
	syscall
	movq enrolled@gottpoff(%rip), %rax
	movb $1, %fs:(%rax)
	movq (%rsp), %rcx
	movq kept@gottpoff(%rip), %rax
	movq %rcx, %fs:(%rax)
	leaq once(%rip), %rdi
	leaq gate_key(%rip), %rsi
	call pthread_once@PLT
	movl key(%rip), %edi
	movl $1, %esi
	call pthread_setspecific@PLT
	addq $40, %rsp
	popq %r9
	popq %r8
	popq %rcx
	popq %rdx
	popq %rsi
	popq %rdi
	ret

// gate_key makes the key whose destructor is gate_leave. Without one, threads end as they did before.
	.type gate_key, %function
gate_key:
	endbr64
	leaq key(%rip), %rdi
	leaq gate_leave(%rip), %rsi
	jmp pthread_key_create@PLT

// gate_leave is called when a thread ends, behind the destructor by which the Go runtime leaves it. That has restored
// the mask of the thread's first entry, where all signals were blocked. Other destructors get the thread's own mask,
// and a thread that calls again is enrolled again. Where Go's has not run yet, this one asks for another turn.
	.type gate_leave, %function
gate_leave:
	endbr64
	subq $24, %rsp
	sigmask 0, zero(%rip), (%rsp)
	movabsq $(SYNCHRONOUS | BITS_UNBLOCKABLE), %rax
	orq (%rsp), %rax
	cmpq $-1, %rax
	jne 1f
	movq enrolled@gottpoff(%rip), %rax
	movb $0, %fs:(%rax)
	movq kept@gottpoff(%rip), %rax
	movq %fs:(%rax), %rax
	movq %rax, (%rsp)
	movl $2, %edi
	movq %rsp, %rsi
	xorl %edx, %edx
	movl $8, %r10d
	movl $SYS_RT_SIGPROCMASK, %eax
	syscall
	addq $24, %rsp
	ret
1:	movl key(%rip), %edi
	movl $1, %esi
	call pthread_setspecific@PLT
	addq $24, %rsp
	ret

// gate_tell writes gate_message if descriptor 2 is the file that it was, and has space, without a signal.
	.type gate_tell, %function
gate_tell:
	subq $168, %rsp // struct stat of 144 bytes, the mask, struct pollfd
	movl $2, %edi
	movq %rsp, %rsi
	movl $SYS_FSTAT, %eax
	syscall
	testq %rax, %rax
	jnz 3f
	movq (%rsp), %rax
	cmpq stderr(%rip), %rax
	jne 3f
	movq 8(%rsp), %rax
	cmpq stderr+8(%rip), %rax
	jne 3f
	sigmask 0, raised(%rip), 144(%rsp)
	movabsq $0x400000002, %rax // descriptor 2, POLLOUT
	movq %rax, 152(%rsp)
	leaq 152(%rsp), %rdi
	movl $1, %esi
	xorl %edx, %edx
	movl $SYS_POLL, %eax
	syscall
	cmpq $1, %rax
	jne 2f
	movl $2, %edi
	leaq gate_message(%rip), %rsi
	movq gate_message_size(%rip), %rdx
	movl $SYS_WRITE, %eax
	syscall
	testq %rax, %rax
	jns 2f
	leaq raised(%rip), %rdi
	xorl %esi, %esi
	leaq zero(%rip), %rdx
	movl $8, %r10d
	movl $SYS_RT_SIGTIMEDWAIT, %eax
	syscall
2:	movl $2, %edi
	leaq 144(%rsp), %rsi
	xorl %edx, %edx
	movl $8, %r10d
	movl $SYS_RT_SIGPROCMASK, %eax
	syscall
3:	addq $168, %rsp
	ret

// gate_before blocks the signals that the runtime's threads shall not get, which they inherit, and lets the runtime
// leave SIGCHLD and SIGPROF blocked where it would unblock them. A child that is forked before the runtime has
// started would wait for it for ever: so there is a guard from the start.
	.type gate_before, %function
gate_before:
	sigmask 2, most(%rip), mask(%rip)
	leaq action(%rip), %rax
	urgent $0, %rax
	movq action(%rip), %rax
	cmpq $1, %rax // SIG_DFL or SIG_IGN
	jbe 5f
	movq %rax, earlier(%rip)
	leaq gate_urgent(%rip), %rcx
	movq (%rcx), %rdx
	cmpq (%rax), %rdx
	jne 5f
	movq 6(%rcx), %rdx
	cmpq 6(%rax), %rdx
	jne 5f
	movq $1, chained(%rip)
5:	xorl %edi, %edi
	movl $GUARD_SIZE, %esi
	movl $PROT_READ_WRITE, %edx
	movl $MAP_PRIVATE_ANONYMOUS, %r10d
	movq $-1, %r8
	xorl %r9d, %r9d
	movl $SYS_MMAP, %eax
	syscall
	cmpq $-4096, %rax
	ja 6f
	movq %rax, %rdi
	movl $GUARD_SIZE, %esi
	movl $MADV_WIPEONFORK, %edx
	movl $SYS_MADVISE, %eax
	syscall
	movq $1, (%rdi)
	movq %rdi, gate_guard(%rip)
6:	leaq _DYNAMIC(%rip), %rsi // before the data
	leaq _edata(%rip), %rdi
	subq $(SIGTABLE_ENTRIES * SIGTABLE_STRIDE), %rdi
	leaq lengths(%rip), %rdx
1:	cmpq %rdi, %rsi
	ja 4f
	xorl %eax, %eax
	leaq SIGTABLE_LENGTH(%rsi), %rcx
2:	movzbl (%rdx,%rax), %r8d
	cmpq (%rcx), %r8
	jne 3f
	addq $SIGTABLE_STRIDE, %rcx
	incl %eax
	cmpl $lengths_size, %eax
	jne 2b
	cmpl $SIGCHLD_FLAGS, SIGCHLD_AT(%rsi)
	jne 3f
	cmpl $SIGPROF_FLAGS, SIGPROF_AT(%rsi)
	jne 3f
	andl $~SIG_UNBLOCK, SIGCHLD_AT(%rsi)
	andl $~SIG_UNBLOCK, SIGPROF_AT(%rsi)
	jmp 4f
3:	addq $8, %rsi
	jmp 1b
4:	ret

// gate_end does nothing in a forked process, whose guard is 0 throughout. An exit status that gate_exit wants is given
// by _exit(2), after fflush(3): both run after all other ends of libraries, as what is registered while handlers run
// comes after them, the last first (exit(3)).
	.type gate_end, %function
gate_end:
	endbr64
	movq gate_guard(%rip), %r11
	testq %r11, %r11
	jz 1f
	cmpq $0, 16(%r11)
	je 1f
	subq $8, %rsp
	movq gate_exit@GOTPCREL(%rip), %rax
	call gate
	movq gate_guard(%rip), %r11
	cmpq $0, 24(%r11)
	je 2f
	movq _exit@GOTPCREL(%rip), %rdi
	movq 24(%r11), %rsi
	xorl %edx, %edx
	call __cxa_atexit@PLT
	movq fflush@GOTPCREL(%rip), %rdi
	xorl %esi, %esi
	xorl %edx, %edx
	call __cxa_atexit@PLT
2:	addq $8, %rsp
1:	ret

	.type gate_after, %function
gate_after:
	subq $152, %rsp
	movl $2, %edi
	leaq mask(%rip), %rsi
	xorl %edx, %edx
	movl $8, %r10d
	movl $SYS_RT_SIGPROCMASK, %eax
	syscall
	movl $2, %edi
	movq %rsp, %rsi
	movl $SYS_FSTAT, %eax
	syscall
	testq %rax, %rax
	jnz 1f
	movups (%rsp), %xmm0
	movups %xmm0, stderr(%rip)
1:	leaq action(%rip), %rax
	urgent $0, %rax
	movq action(%rip), %rax
	cmpq $1, %rax // SIG_DFL or SIG_IGN
	jbe 2f
	movq %rax, preempt(%rip)
	leaq gate_urgent(%rip), %rax
	movq %rax, action(%rip)
	leaq action(%rip), %rax
	urgent %rax, $0
2:	addq $152, %rsp
	ret

// gate_urgent goes on to Go's handler, but not on a thread from which the application has taken the alternate stack
// since it was enrolled: there Go's ends the process. Such a thread leaves Go only where Go looks whether it should.
// Then the handler is called that was there before the library, unless the signal is from a thread of this process: so
// the runtime sends it.
	.type gate_urgent, %function
gate_urgent:
	endbr64
	pushq %rdi
	pushq %rsi
	pushq %rdx
	nopl 0x67726175(%rax) // by these bytes another library knows it
	movq enrolled@gottpoff(%rip), %rax
	cmpb $0, %fs:(%rax)
	je 1f
	subq $24, %rsp // stack_t
	xorl %edi, %edi
	movq %rsp, %rsi
	movl $SYS_SIGALTSTACK, %eax
	syscall
	movl 8(%rsp), %eax
	addq $24, %rsp
	testl $SS_DISABLE, %eax
	jnz 2f
1:	movq 16(%rsp), %rdi
	movq 8(%rsp), %rsi
	movq (%rsp), %rdx
	call *preempt(%rip)
2:	popq %rdx
	popq %rsi
	popq %rdi
	movq earlier(%rip), %r8
	testq %r8, %r8
	jz 3f
	cmpb $0, chained(%rip)
	jne 4f
	cmpl $SI_TKILL, 8(%rsi) // si_code
	jne 4f
	movl $SYS_GETPID, %eax
	syscall
	cmpl 16(%rsi), %eax // si_pid
	jne 4f
3:	ret
4:	jmp *%r8

// gate_offset returns where enrolled is from the thread's pointer.
	.globl gate_offset
	.hidden gate_offset
	.type gate_offset, %function
gate_offset:
	endbr64
	movq enrolled@gottpoff(%rip), %rax
	ret

// gate_mark returns where farside_in_go is from there.
	.globl gate_mark
	.hidden gate_mark
	.type gate_mark, %function
gate_mark:
	endbr64
	movq farside_in_go@gottpoff(%rip), %rax
	ret

#elif defined(__aarch64__)
#define SYS_GETPID 172
#define SYS_RT_SIGACTION 134
#define SYS_RT_SIGPROCMASK 135
#define SYS_RT_SIGTIMEDWAIT 137
#define SYS_SIGALTSTACK 132
#define SYS_MMAP 222
#define SYS_MADVISE 233
#define SYS_FSTAT 80
#define SYS_PPOLL 73
#define SYS_WRITE 64

.macro address register, symbol
	adrp \register, \symbol
	add \register, \register, :lo12:\symbol
.endm

// urgent is sigaction(2) of SIGURG, with x1 to set and x2 to get.
.macro urgent
	mov x0, #SIGURG
	mov x3, #8
	system SYS_RT_SIGACTION
.endm

.macro system number
	mov x8, #\number
	svc #0
.endm

// The offset of a thread's variable, enrolled or another one, from the thread's pointer.
.macro offset register, variable=enrolled
	adrp \register, :gottprel:\variable
	ldr \register, [\register, :gottprel_lo12:\variable]
.endm

// gate calls the Go function in x16 with the arguments, which are all in registers. In a forked process it returns x17,
// and so it does for a signal handler that has interrupted the thread in Go, of this library or of another one.
// A Go function that is called before the Go runtime has started waits for it.
	.globl gate
	.hidden gate
	.type gate, %function
gate:
	adrp x9, gate_guard
	ldr x9, [x9, :lo12:gate_guard]
	cbz x9, 1f
	ldr x10, [x9]
	cbz x10, 3f
1:	mrs x10, tpidr_el0
	offset x9, farside_in_go
	ldrb w11, [x10, x9]
	cbnz w11, 7f
	offset x9
	ldrb w11, [x10, x9]
	cbz w11, 6f
2:	offset x9, farside_in_go
	mrs x10, tpidr_el0
	mov w11, #1
	strb w11, [x10, x9]
	stp x29, x30, [sp, #-16]!
	mov x29, sp
	blr x16
	ldp x29, x30, [sp], #16
	offset x9, farside_in_go
	mrs x10, tpidr_el0
	strb wzr, [x10, x9]
	ret
6:	stp x16, x30, [sp, #-16]!
	bl gate_enrol
	ldp x16, x30, [sp], #16
	b 2b
7:	mov x0, x17
	ret
3:	stp x17, x30, [sp, #-16]!
	add x9, x9, #8
	mov x10, #1
4:	ldaxr x11, [x9]
	stxr w12, x10, [x9]
	cbnz w12, 4b
	cbnz x11, 5f
	bl gate_tell
5:	ldp x0, x30, [sp], #16
	ret

// gate_enrol keeps the registers of arguments. The thread's signals are blocked until it has room for handlers; then
// its mask is as before, but Go needs the signals of its own errors.
	.type gate_enrol, %function
gate_enrol:
	hint #34 // bti c
	stp x29, x30, [sp, #-128]! // behind the registers: the mask at 88, stack_t at 96
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	mov x0, #2
	address x1, blockable
	add x2, sp, #88
	mov x3, #8
	system SYS_RT_SIGPROCMASK
	mov x0, #0
	add x1, sp, #96
	system SYS_SIGALTSTACK
	ldr w0, [sp, #104]
	and w0, w0, #2 // SS_DISABLE
	bl gate_enter
	address x10, blockable
	ldr x10, [x10]
	ldr x9, [sp, #88]
	and x9, x9, x10
	str x9, [sp, #88]
	mov x0, #2
	add x1, sp, #88
	mov x2, #0
	mov x3, #8
	system SYS_RT_SIGPROCMASK
	offset x9
	mrs x10, tpidr_el0
	mov w11, #1
	strb w11, [x10, x9]
	ldr x11, [sp, #88]
	offset x9, kept
	str x11, [x10, x9]
	address x0, once
	address x1, gate_key
	bl pthread_once
	address x0, key
	ldr w0, [x0]
	mov x1, #1
	bl pthread_setspecific
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp x29, x30, [sp], #128
	ret

// gate_key makes the key whose destructor is gate_leave. Without one, threads end as they did before.
	.type gate_key, %function
gate_key:
	hint #34 // bti c
	address x0, key
	address x1, gate_leave
	b pthread_key_create

// gate_leave is called when a thread ends, behind the destructor by which the Go runtime leaves it. That has restored
// the mask of the thread's first entry, where all signals were blocked. Other destructors get the thread's own mask,
// and a thread that calls again is enrolled again. Where Go's has not run yet, this one asks for another turn.
	.type gate_leave, %function
gate_leave:
	hint #34 // bti c
	stp x29, x30, [sp, #-32]! // behind them: the mask
	mov x0, #0
	address x1, zero
	add x2, sp, #16
	mov x3, #8
	system SYS_RT_SIGPROCMASK
	ldr x9, [sp, #16]
	ldr x10, =(SYNCHRONOUS | BITS_UNBLOCKABLE)
	orr x9, x9, x10
	cmn x9, #1
	b.ne 1f
	mrs x10, tpidr_el0
	offset x9
	strb wzr, [x10, x9]
	offset x9, kept
	ldr x11, [x10, x9]
	str x11, [sp, #16]
	mov x0, #2
	add x1, sp, #16
	mov x2, #0
	mov x3, #8
	system SYS_RT_SIGPROCMASK
	ldp x29, x30, [sp], #32
	ret
1:	address x0, key
	ldr w0, [x0]
	mov x1, #1
	bl pthread_setspecific
	ldp x29, x30, [sp], #32
	ret

// gate_tell writes gate_message if descriptor 2 is the file that it was, and has space, without a signal.
	.type gate_tell, %function
gate_tell:
	hint #34 // bti c
	sub sp, sp, #144 // struct stat of 128 bytes, the mask, struct pollfd
	mov x0, #2
	mov x1, sp
	system SYS_FSTAT
	cbnz x0, 3f
	address x9, stderr
	ldp x10, x11, [x9]
	ldp x12, x13, [sp]
	cmp x10, x12
	b.ne 3f
	cmp x11, x13
	b.ne 3f
	mov x0, #0
	address x1, raised
	add x2, sp, #128
	mov x3, #8
	system SYS_RT_SIGPROCMASK
	mov x9, #2 // descriptor 2
	movk x9, #4, lsl #32 // POLLOUT
	str x9, [sp, #136]
	add x0, sp, #136
	mov x1, #1
	address x2, zero
	mov x3, #0
	mov x4, #8
	system SYS_PPOLL
	cmp x0, #1
	b.ne 2f
	mov x0, #2
	address x1, gate_message
	address x2, gate_message_size
	ldr x2, [x2]
	system SYS_WRITE
	tbz x0, #63, 2f
	address x0, raised
	mov x1, #0
	address x2, zero
	mov x3, #8
	system SYS_RT_SIGTIMEDWAIT
2:	mov x0, #2
	add x1, sp, #128
	mov x2, #0
	mov x3, #8
	system SYS_RT_SIGPROCMASK
3:	add sp, sp, #144
	ret

// gate_before blocks the signals that the runtime's threads shall not get, which they inherit, and lets the runtime
// leave SIGCHLD and SIGPROF blocked where it would unblock them. A child that is forked before the runtime has
// started would wait for it for ever: so there is a guard from the start.
	.type gate_before, %function
gate_before:
	hint #34 // bti c
	mov x0, #2
	address x1, most
	address x2, mask
	mov x3, #8
	system SYS_RT_SIGPROCMASK
	mov x1, #0
	address x2, action
	urgent
	address x9, action
	ldr x9, [x9]
	cmp x9, #1 // SIG_DFL or SIG_IGN
	b.ls 5f
	address x10, earlier
	str x9, [x10]
	address x10, gate_urgent
	ldr x11, [x9]
	ldr x12, [x10]
	cmp x11, x12
	b.ne 5f
	ldr x11, [x9, #8]
	ldr x12, [x10, #8]
	cmp x11, x12
	b.ne 5f
	mov x11, #1
	address x10, chained
	str x11, [x10]
5:	mov x0, #0
	mov x1, #GUARD_SIZE
	mov x2, #PROT_READ_WRITE
	mov x3, #MAP_PRIVATE_ANONYMOUS
	mov x4, #-1
	mov x5, #0
	system SYS_MMAP
	cmn x0, #4096
	b.hi 6f
	mov x9, x0
	mov x1, #GUARD_SIZE
	mov x2, #MADV_WIPEONFORK
	system SYS_MADVISE
	mov x10, #1
	str x10, [x9]
	address x10, gate_guard
	str x9, [x10]
6:	address x0, _DYNAMIC // before the data
	address x1, _edata
	sub x1, x1, #(SIGTABLE_ENTRIES * SIGTABLE_STRIDE)
	address x2, lengths
1:	cmp x0, x1
	b.hi 4f
	mov x3, #0
	add x4, x0, #SIGTABLE_LENGTH
2:	ldrb w5, [x2, x3]
	ldr x6, [x4], #SIGTABLE_STRIDE
	cmp x5, x6
	b.ne 3f
	add x3, x3, #1
	cmp x3, #lengths_size
	b.ne 2b
	ldr w3, [x0, #SIGCHLD_AT]
	cmp w3, #SIGCHLD_FLAGS
	b.ne 3f
	ldr w4, [x0, #SIGPROF_AT]
	cmp w4, #SIGPROF_FLAGS
	b.ne 3f
	and w3, w3, #~SIG_UNBLOCK
	str w3, [x0, #SIGCHLD_AT]
	and w4, w4, #~SIG_UNBLOCK
	str w4, [x0, #SIGPROF_AT]
	b 4f
3:	add x0, x0, #8
	b 1b
4:	ret

// gate_end does nothing in a forked process, whose guard is 0 throughout. An exit status that gate_exit wants is given
// by _exit(2), after fflush(3): both run after all other ends of libraries, as what is registered while handlers run
// comes after them, the last first (exit(3)).
	.type gate_end, %function
gate_end:
	hint #34 // bti c
	adrp x9, gate_guard
	ldr x9, [x9, :lo12:gate_guard]
	cbz x9, 1f
	ldr x10, [x9, #16]
	cbz x10, 1f
	stp x29, x30, [sp, #-16]!
	adrp x16, :got:gate_exit
	ldr x16, [x16, :got_lo12:gate_exit]
	mov w17, #0
	bl gate
	adrp x9, gate_guard
	ldr x9, [x9, :lo12:gate_guard]
	ldr x1, [x9, #24]
	cbz x1, 2f
	adrp x0, :got:_exit
	ldr x0, [x0, :got_lo12:_exit]
	mov x2, #0
	bl __cxa_atexit
	adrp x0, :got:fflush
	ldr x0, [x0, :got_lo12:fflush]
	mov x1, #0
	mov x2, #0
	bl __cxa_atexit
2:	ldp x29, x30, [sp], #16
1:	ret

	.type gate_after, %function
gate_after:
	hint #34 // bti c
	sub sp, sp, #128
	mov x0, #2
	address x1, mask
	mov x2, #0
	mov x3, #8
	system SYS_RT_SIGPROCMASK
	mov x0, #2
	mov x1, sp
	system SYS_FSTAT
	cbnz x0, 1f
	ldp x9, x10, [sp]
	address x11, stderr
	stp x9, x10, [x11]
1:	mov x1, #0
	address x2, action
	urgent
	address x9, action
	ldr x10, [x9]
	cmp x10, #1 // SIG_DFL or SIG_IGN
	b.ls 2f
	address x11, preempt
	str x10, [x11]
	address x10, gate_urgent
	str x10, [x9]
	mov x1, x9
	mov x2, #0
	urgent
2:	add sp, sp, #128
	ret

// gate_urgent goes on to Go's handler, but not on a thread from which the application has taken the alternate stack
// since it was enrolled: there Go's ends the process. Such a thread leaves Go only where Go looks whether it should.
// Then the handler is called that was there before the library, unless the signal is from a thread of this process: so
// the runtime sends it.
	.type gate_urgent, %function
gate_urgent:
	hint #34 // bti c
	mov w9, #0x6175 // by these words another library knows it
	movk w9, #0x6772, lsl #16
	stp x29, x30, [sp, #-64]! // behind them: the arguments, stack_t
	stp x0, x1, [sp, #16]
	str x2, [sp, #32]
	offset x9
	mrs x10, tpidr_el0
	ldrb w9, [x10, x9]
	cbz w9, 1f
	mov x0, #0
	add x1, sp, #40
	system SYS_SIGALTSTACK
	ldr w9, [sp, #48]
	tbnz w9, #1, 2f // SS_DISABLE
1:	ldp x0, x1, [sp, #16]
	ldr x2, [sp, #32]
	address x16, preempt
	ldr x16, [x16]
	blr x16
2:	ldp x0, x1, [sp, #16]
	ldr x2, [sp, #32]
	ldp x29, x30, [sp], #64
	address x16, earlier
	ldr x16, [x16]
	cbz x16, 3f
	address x9, chained
	ldr x9, [x9]
	cbnz x9, 4f
	ldr w9, [x1, #8] // si_code
	cmn w9, #-(SI_TKILL)
	b.ne 4f
	ldr w9, [x1, #16] // si_pid
	mov x10, x0
	system SYS_GETPID
	mov x11, x0
	mov x0, x10
	cmp w9, w11
	b.ne 4f
3:	ret
4:	br x16

// gate_offset returns where enrolled is from the thread's pointer.
	.globl gate_offset
	.hidden gate_offset
	.type gate_offset, %function
gate_offset:
	hint #34 // bti c
	offset x0
	ret

// gate_mark returns where farside_in_go is from there.
	.globl gate_mark
	.hidden gate_mark
	.type gate_mark, %function
gate_mark:
	hint #34 // bti c
	offset x0, farside_in_go
	ret
#else
#error "no gate for this architecture"
#endif

	.section .note.GNU-stack, "", %progbits
