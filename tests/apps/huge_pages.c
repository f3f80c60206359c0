/*
 * Regions in huge pages, anonymous and of a file: a write from one into the other, and a child that
 * is made while both are registered. Prints the result of each step.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/apps/app.h"

enum { BYTES = 2 << 20, PART = 65536 };

static void *map_huge(int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB : MAP_SHARED;
	void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);

	return NEED(at == MAP_FAILED ? NULL : at);
}

static struct ibv_mr *register_huge(struct ibv_pd *pd, void *at, const char *what)
{
	struct ibv_mr *mr =
		ibv_reg_mr(pd, at, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	printf("%s: %s\n", what, mr ? "registered" : strerror(errno));
	return mr;
}

static void copy_part(struct ibv_qp *qp, const struct ibv_mr *from, const struct ibv_mr *to)
{
	struct ibv_sge sge = { (uintptr_t)from->addr + PART, PART, from->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)to->addr + BYTES - PART, to->rkey } };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	memset(from->addr, 7, BYTES);
	MUST(ibv_post_send(qp, &wr, &bad));
	while (!ibv_poll_cq(qp->send_cq, 1, &wc))
		;
	printf("%s, %s\n", ibv_wc_status_str(wc.status),
	       memcmp((char *)from->addr + PART, (char *)to->addr + BYTES - PART, PART) ? "differs"
											: "same");
}

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	int fd = memfd_create("huge", MFD_HUGETLB), status;
	struct ibv_mr *from, *to;
	pid_t child;

	NEED(fd >= 0 && !ftruncate(fd, BYTES));
	connect_to_itself(context, qp);
	from = register_huge(pd, map_huge(-1), "anonymous");
	to = register_huge(pd, map_huge(fd), "of a file");
	if (from && to)
		copy_part(qp, from, to);
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(3);
	NEED(child > 0 && waitpid(child, &status, 0) == child);
	printf("child: %x, fork support: %d\n", status, ibv_is_fork_initialized());
	if (from)
		MUST(ibv_dereg_mr(from));
	if (to)
		MUST(ibv_dereg_mr(to));
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
