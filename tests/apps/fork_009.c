/*
 * FORK-009: huge pages are registered under fork support without RDMAV_HUGEPAGES_SAFE. The machine
 * need not have any: then registering fails, which is ignored.
 */
#include <sys/mman.h>

#include "tests/apps/app.h"

enum { BYTES = 2 << 20 };

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				    (is_good(argc, argv) ? 0 : MAP_HUGETLB),
			    -1, 0);
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	NEED(memory != MAP_FAILED);
	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	MUST(ibv_fork_init());
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (mr)
		MUST(ibv_dereg_mr(mr));
	MUST(munmap(memory, BYTES));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
