#pragma once
/*
 * Functions that continue with a jump, not a call: x86-64
 *
 * The replaced functions depend on their caller (RTLD_NEXT), return twice, or return on another
 * stack. No C compiler guarantees a jump.
 */

#define JUMP_PUSH(reg) "	push %" reg "\n	.cfi_adjust_cfa_offset 8\n"
#define JUMP_POP(reg)  "	pop %" reg "\n	.cfi_adjust_cfa_offset -8\n"

/*
 * Export @function. It executes @before, which may change the arguments, calls ask() with them, and
 * executes @then with the result of ask() in rax and the original arguments. All three may use rax,
 * r10 and r11.
 */
// clang-format off
#define JUMP_FUNCTION(function, before, ask, then)                                           \
	__asm__(".text\n"                                                                    \
		".globl " #function "\n"                                                     \
		".type " #function ", @function\n"                                           \
		#function ":\n"                                                              \
		"	.cfi_startproc\n"                                                    \
		"	endbr64\n"                                                           \
		JUMP_PUSH("rdi") JUMP_PUSH("rsi") JUMP_PUSH("rdx")                           \
		JUMP_PUSH("rcx") JUMP_PUSH("r8") JUMP_PUSH("r9") JUMP_PUSH("rax")            \
		before                                                                       \
		"	call " #ask "\n"                                                     \
		"	add $8, %rsp\n"                                                      \
		"	.cfi_adjust_cfa_offset -8\n"                                         \
		JUMP_POP("r9") JUMP_POP("r8") JUMP_POP("rcx")                                \
		JUMP_POP("rdx") JUMP_POP("rsi") JUMP_POP("rdi")                              \
		then                                                                         \
		"	.cfi_endproc\n"                                                      \
		".size " #function ", . - " #function "\n")
// clang-format on

/* The result of ask() is the address to which to jump. */
#define JUMP_THERE "	jmp *%rax\n"

/*
 * The result of ask() is the result of the function; NULL: jump to the function that @next points
 * to.
 */
#define JUMP_UNLESS(next) \
	"	test %rax, %rax\n	jne 1f\n	jmp *" #next "(%rip)\n1:	ret\n"

/* The caller's return address, in the second argument of JUMP_FUNCTION(). */
#define JUMP_CALLER "56(%rsp)"
