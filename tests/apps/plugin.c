/*
 * Loads verbs from libibverbs as NCCL does: dlopen with RTLD_LOCAL, dlvsym, never linked with it.
 * An argument is the name to load.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void *take_verb(const char *name, const char *version)
{
	void *at = version ? dlvsym(library, name, version) : dlsym(library, name);

	if (!at)
		printf("no %s\n", name);
	return at;
}

/* A libibverbs of another namespace is another one. */
static void say_other(void)
{
	void *other = dlmopen(LM_ID_NEWLM, "libibverbs.so.1", RTLD_NOW);
	Dl_info info;

	if (other && dladdr(dlsym(other, "ibv_reg_mr"), &info))
		printf("of its own: %d\n", !!strstr(info.dli_fname, "libibverbs.so"));
}

int main(int argc, char **argv)
{
	struct ibv_device **(*get_device_list)(int *);
	struct ibv_context *(*open_device)(struct ibv_device *);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
	const char *(*status_str)(enum ibv_wc_status);
	int (*dereg_mr)(struct ibv_mr *), (*dealloc_pd)(struct ibv_pd *);
	int (*close_device)(struct ibv_context *);
	static char buffer[4096];
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int n = 0;

	library = dlopen(argc > 1 ? argv[1] : "libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("%s\n", dlerror());
		return 1;
	}
	get_device_list = take_verb("ibv_get_device_list", "IBVERBS_1.1");
	open_device = take_verb("ibv_open_device", "IBVERBS_1.1");
	alloc_pd = take_verb("ibv_alloc_pd", NULL);
	reg_mr = take_verb("ibv_reg_mr", "IBVERBS_1.1");
	dereg_mr = take_verb("ibv_dereg_mr", NULL);
	dealloc_pd = take_verb("ibv_dealloc_pd", "IBVERBS_1.1");
	close_device = take_verb("ibv_close_device", "IBVERBS_1.1");
	status_str = take_verb("ibv_wc_status_str", "IBVERBS_1.1");
	printf("%s\n", status_str(IBV_WC_WR_FLUSH_ERR));
	printf("missing: %p %d %d\n", dlsym(library, "ibv_no_such_verb"), !!dlerror(), !!dlerror());
	printf("other node: %p\n", dlvsym(library, "ibv_reg_mr", "IBVERBS_1.9"));
	printf("libc's: %d\n",
	       dlsym(RTLD_DEFAULT, "malloc") == dlsym(dlopen(NULL, RTLD_LAZY), "malloc"));
	say_other();
	list = get_device_list(&n);
	context = n ? open_device(list[0]) : NULL;
	pd = context ? alloc_pd(context) : NULL;
	mr = pd ? reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE) : NULL;
	printf("%d %d\n", !!pd, !!mr);
	if (!mr)
		return 1;
	printf("%d\n", dereg_mr(mr));
	printf("%d\n", dealloc_pd(pd));
	printf("%d\n", close_device(context));
	return 0;
}
