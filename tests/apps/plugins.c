/*
 * Plug-ins that post: the two libraries in FIRST and SECOND are loaded, used and unloaded in turn,
 * so that they get the same address. Each has its own functions, of the same size as the other's.
 * Prints whether they did.
 */
#include <dlfcn.h>

#include "tests/apps/app.h"

typedef int run_fn(struct ibv_pd *pd, struct ibv_qp *qp);

static struct ibv_pd *pd;
static struct ibv_qp *qp;

static void *run_one(const char *path)
{
	void *library = NEED(dlopen(path, RTLD_NOW | RTLD_LOCAL));
	run_fn *run = (run_fn *)NEED(dlsym(library, "run_plugin"));

	for (int i = 0; i < 2; i++)
		MUST(run(pd, qp));
	dlclose(library);
	return (void *)run;
}

int main(void)
{
	struct ibv_context *context = open_first_device();
	void *first, *second;

	pd = NEED(ibv_alloc_pd(context));
	qp = create_rc_qp(pd, NEED(ibv_create_cq(context, 64, NULL, NULL, 0)));
	connect_to_itself(context, qp);
	first = run_one(getenv("FIRST"));
	second = run_one(getenv("SECOND"));
	run_one(getenv("FIRST"));
	printf("%s\n", first == second ? "same place" : "another place");
	return 0;
}
