#include <stdint.h>
#include <sys/mman.h>
int mlx5dv_init_obj(void *, uint64_t);
static int one, two;
__attribute__((section(".data.rel.ro"))) int *volatile constant = &one;
__attribute__((constructor)) static void unseal_page(void)
{
	mprotect((void *)((uintptr_t)&constant & -4096ul), 4096, PROT_READ | PROT_WRITE);
}
int run_plug(void *obj)
{
	constant = &two;
	return mlx5dv_init_obj(obj, 3);
}
