#include "later.h"
#include <dlfcn.h>
typedef struct dmah *alloc_fn(struct ibv_context *, struct dmah_attr *);
static void try_verb(const char *how, void *at)
{
	struct dmah_attr attr = { .comp_mask = 1, .cpu_id = 5 };
	static char context[64];
	printf("%s %d\n", how, at ? !!((alloc_fn *)at)((struct ibv_context *)context, &attr) : -1);
}
void FINDS(void)
{
#ifndef PLUG /* only the loader knows the next definition */
	try_verb("next", dlsym(RTLD_NEXT, "ibv_alloc_dmah"));
	try_verb("next of its version", dlvsym(RTLD_NEXT, "ibv_alloc_dmah", "IBVERBS_1.15"));
	try_verb("next of another", dlvsym(RTLD_NEXT, "ibv_alloc_dmah", "IBVERBS_1.14"));
#endif
	try_verb("default", dlsym(RTLD_DEFAULT, "ibv_alloc_dmah"));
	try_verb("default of its version", dlvsym(RTLD_DEFAULT, "ibv_alloc_dmah", "IBVERBS_1.15"));
	printf("%d\n", !!dlerror());
}
