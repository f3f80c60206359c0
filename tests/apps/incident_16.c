/*
 * The peer gets the key of a region in another protection domain than its queue pair's, as in a
 * program with one device each (libevpl#89).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	struct ibv_pd *first;
	struct ibv_mr *mr;

	ends_open();
	first = NEED(ibv_alloc_pd(ends.context));
	mr = NEED(ibv_reg_mr(first, ends.memory[1], ENDS_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	MUST(ends_write(is_good(argc, argv) ? ends.mr[1]->rkey : mr->rkey));
	ends_await(0, 1);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(first));
	ends_close();
	return 0;
}
