#define WEAK __attribute__((weak))
#include "later.h"
#include <dlfcn.h>
int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);
	const char *why;
	struct dmah_attr attr = { .comp_mask = 1, .cpu_id = 5 };
	static char context[64];
	struct dmah *(*at)(struct ibv_context *, struct dmah_attr *);
	if (list)
		ibv_free_device_list(list);
	printf("weak %d %d\n", !!ibv_alloc_dmah, !!ibv_create_comp_cntr);
	printf("default %d\n", !!dlsym(RTLD_DEFAULT, "ibv_alloc_dmah"));
	why = dlerror();
	printf("%d\n", why && strstr(why, "undefined symbol: ibv_alloc_dmah"));
	printf("versions %d %d\n", !!dlvsym(lib, "ibv_alloc_dmah", "IBVERBS_1.15"),
	       !!dlvsym(lib, "ibv_alloc_dmah", "IBVERBS_1.14"));
	why = dlerror();
	printf("%d\n", !!why);
	at = (struct dmah * (*)(struct ibv_context *, struct dmah_attr *))
		dlsym(lib, "ibv_alloc_dmah");
	printf("handle %d\n", !!at);
	if (at)
		printf("%d\n", !!at((struct ibv_context *)context, &attr));
	if (ibv_alloc_dmah)
		printf("%d\n", !!ibv_alloc_dmah((struct ibv_context *)context, &attr));
	if ((at = (struct dmah * (*)(struct ibv_context *, struct dmah_attr *))
		     dlsym(RTLD_DEFAULT, "ibv_alloc_dmah")))
		printf("%d\n", !!at((struct ibv_context *)context, &attr));
	return 0;
}
