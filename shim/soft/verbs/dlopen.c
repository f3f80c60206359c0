/*
 * Programs that load libibverbs themselves
 *
 * NCCL, and other programs without libibverbs at build time, call dlopen(3). A symbol that they
 * look up in the handle comes from the installed library, even if a preload defines it. So this
 * dlopen() returns for libibverbs the handle of this library, which has the same symbols with the
 * same versions.
 *
 * For other libraries, the next dlopen() is jumped to, not called: dlopen() searches the RUNPATH of
 * its caller, which it finds by the return address. C cannot guarantee a jump.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef void *dlopen_function(const char *file, int flags);

extern dlopen_function *dlopen_next;
dlopen_function *dlopen_next;

/* The handle of this library; NULL if another library is requested. */
void *dlopen_ours(const char *file, int flags);

static bool is_verbs(const char *file)
{
	const char *name = file ? strrchr(file, '/') : NULL;

	if (!file)
		return false;
	name = name ? name + 1 : file;
	return !strcmp(name, "libibverbs.so.1") || !strcmp(name, "libibverbs.so");
}

void *dlopen_ours(const char *file, int flags)
{
	Dl_info self;

	if (!dlopen_next)
		dlopen_next = (dlopen_function *)dlsym(RTLD_NEXT, "dlopen");
	if (!is_verbs(file) || !dladdr((void *)dlopen_ours, &self) ||
	    !strstr(self.dli_fname, ".so"))
		return NULL; /* NULL in a test, into which this code is linked */
	return dlopen_next(self.dli_fname, flags);
}

#ifdef __x86_64__
__asm__(".text\n"
	".globl dlopen\n"
	".type dlopen, @function\n"
	"dlopen:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call dlopen_ours\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	test %rax, %rax\n"
	"	jne 1f\n"
	"	jmp *dlopen_next(%rip)\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size dlopen, . - dlopen\n");
#endif
