/*
 * A program with escape sequences in its names: of its source file, a thread and a mark; its own
 * file's name and arguments are chosen by the caller. It makes the mistake of life_001.c, and a
 * request that fails.
 */
#include <pthread.h>
#include <sys/prctl.h>

#include "shim/trace/verbatim.h"
#include "tests/apps/app.h"

#define EVIL               \
	"\033]0;x\a\n\x9b" \
	"31m"

/* the name of the file from here on: debug information is untrusted, too */
#line 1 "evil\033]0;x\a\n\33[2J.c"

static void fail_one(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_sge sge = { .addr = (uintptr_t)&sge, .length = 8, .lkey = 1 };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	connect_to_itself(context, qp);
	MUST(ibv_post_send(qp, &wr, &bad));
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
}

static void *named_thread(void *context)
{
	struct ibv_cq *cq;

	prctl(PR_SET_NAME, EVIL);
	verbatim_mark(EVIL);
	cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	MUST(ibv_destroy_cq(cq));
	ibv_ack_cq_events(cq, 0);
	return NULL;
}

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	pthread_t thread;

	fail_one(context, pd);
	MUST(pthread_create(&thread, NULL, named_thread, context));
	MUST(pthread_join(thread, NULL));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
