/*
 * Functions that report a call, then jump to another function
 *
 * The arguments are not known, so all registers that may contain one are saved. The stub's index is
 * on the stack, so that rsp is a multiple of 16 in the call.
 */
#include "shim/trace/base/stub.h"

#ifdef __x86_64__

#include <errno.h>

/* stub_next[i]: the function to which stub i jumps. */
extern void *stub_next[STUBS];
void *stub_next[STUBS];

void stub_enter(unsigned int index);

void stub_enter(unsigned int index)
{
	int saved = errno;

	CALL_BACK(stub_called)(index);
	errno = saved;
}

__asm__(".text\n"
	".balign 16\n"
	".type stub_first, @object\n"
	"stub_first:\n"
	".set index, 0\n"
	".rept 512\n"
	"	endbr64\n"
	"	push $index\n"
	"	jmp stub_common\n"
	"	.balign 16\n"
	".set index, index + 1\n"
	".endr\n"
	".size stub_first, . - stub_first\n"
	".type stub_common, @function\n"
	"stub_common:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 16\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 24\n"
	"	.cfi_offset %rbp, -24\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %rax\n"
	"	sub $128, %rsp\n"
	"	movups %xmm0, (%rsp)\n"
	"	movups %xmm1, 16(%rsp)\n"
	"	movups %xmm2, 32(%rsp)\n"
	"	movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp)\n"
	"	movups %xmm5, 80(%rsp)\n"
	"	movups %xmm6, 96(%rsp)\n"
	"	movups %xmm7, 112(%rsp)\n"
	"	mov 8(%rbp), %rdi\n"
	"	call stub_enter\n"
	"	movups (%rsp), %xmm0\n"
	"	movups 16(%rsp), %xmm1\n"
	"	movups 32(%rsp), %xmm2\n"
	"	movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4\n"
	"	movups 80(%rsp), %xmm5\n"
	"	movups 96(%rsp), %xmm6\n"
	"	movups 112(%rsp), %xmm7\n"
	"	add $128, %rsp\n"
	"	pop %rax\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rcx\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 16\n"
	"	pop %r11\n"
	"	.cfi_def_cfa_offset 8\n"
	"	lea stub_next(%rip), %r10\n"
	"	jmp *(%r10,%r11,8)\n"
	"	.cfi_endproc\n"
	".size stub_common, . - stub_common\n");

extern char stub_first[] __attribute__((visibility("hidden")));

enum { STUB = 16 };

_Static_assert(STUBS == 512, "as many as .rept makes");

void *stub_to(unsigned int index, void *next)
{
	stub_next[index] = next;
	return stub_first + index * STUB;
}

bool stub_is(const void *at)
{
	return (const char *)at >= stub_first && (const char *)at < stub_first + STUBS * STUB;
}

#endif
