/*
 * A sender that dies within ibv_post_send(); its peer receives a message of it.
 *
 * The post is a list of two requests; the memory of the second is unmapped, so the first is sent
 * when the process faults, and no recorder sees either.
 */
#include "tests/apps/app.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, BYTES = 64 };

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr, *gone;
};

static struct ibv_mr *find_page(struct ibv_pd *pd)
{
	void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(memory == MAP_FAILED);
	return NEED(ibv_reg_mr(pd, memory, PAGE, IBV_ACCESS_LOCAL_WRITE));
}

static void post_recv(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->mr->addr, BYTES, e->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };

	MUST(ibv_post_recv(e->qp, &wr, &bad));
}

/* Ready to receive two messages, once the peer is, too. */
static void begin_recording(struct end *e, int fd)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	uint32_t number;

	e->mr = find_page(pd);
	e->gone = find_page(pd);
	e->cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	e->qp = create_rc_qp(pd, e->cq);
	MUST(write(fd, &e->qp->qp_num, sizeof(number)) != sizeof(number));
	MUST(read(fd, &number, sizeof(number)) != sizeof(number));
	connect_to(context, e->qp, number);
	post_recv(e);
	post_recv(e);
	MUST(write(fd, "", 1) != 1);
	MUST(read(fd, &number, 1) != 1);
}

static void die_sending(struct end *e)
{
	struct ibv_sge there = { (uintptr_t)e->mr->addr, BYTES, e->mr->lkey };
	struct ibv_sge gone = { (uintptr_t)e->gone->addr, BYTES, e->gone->lkey };
	struct ibv_send_wr second = {
		.wr_id = 2, .sg_list = &gone, .num_sge = 1, .opcode = IBV_WR_SEND
	};
	struct ibv_send_wr first = {
		.wr_id = 1, .sg_list = &there, .num_sge = 1, .opcode = IBV_WR_SEND, .next = &second
	};
	struct ibv_send_wr *bad;

	MUST(munmap(e->gone->addr, PAGE));
	ibv_post_send(e->qp, &first, &bad);
}

int main(void)
{
	struct rlimit no_core = { 0 };
	struct end e;
	struct ibv_wc wc;
	int fds[2], status;
	pid_t child;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	child = fork();
	MUST(child < 0);
	begin_recording(&e, fds[!child]);
	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core);
		die_sending(&e);
		return 3;
	}
	while (ibv_poll_cq(e.cq, 1, &wc) == 0)
		;
	MUST(waitpid(child, &status, 0) != child || !WIFSIGNALED(status));
	printf("received %u bytes of a sender that signal %d ended\n", wc.byte_len,
	       WTERMSIG(status));
	return wc.status != IBV_WC_SUCCESS;
}
