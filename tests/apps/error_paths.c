/*
 * error_paths KIND[,KIND...] [good]: a program whose error paths of these kinds are broken, or not
 * (tests/e2e/torture.sh has the failures that show it). It sends 8 messages to itself and ends with
 * 0; with a failure it ends with 1, unless its error path has the mistake.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "tests/apps/app.h"

enum { MESSAGES = 8, BYTES = 64 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char *buffer;
static const char *kind;
static bool good;

static bool has_mistake(const char *mistake)
{
	return !good && strstr(kind, mistake);
}

/* Destroy what there is, in order; the status of a program that has failed. */
static int clean_up(void)
{
	if (qp && ibv_destroy_qp(qp))
		return 1;
	if (mr && !has_mistake("forgotten-region"))
		ibv_dereg_mr(mr);
	if (cq)
		ibv_destroy_cq(cq);
	if (has_mistake("destroyed-twice") && cq)
		ibv_destroy_cq(cq);
	if (pd && !has_mistake("forgotten-region"))
		ibv_dealloc_pd(pd);
	ibv_close_device(context);
	free(buffer);
	return 1;
}

static int create_all(void)
{
	struct ibv_qp_init_attr attr = { .cap = { MESSAGES, MESSAGES, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };

	context = open_first_device();
	buffer = calloc(2, BYTES);
	pd = ibv_alloc_pd(context);
	if (!pd)
		return clean_up();
	mr = ibv_reg_mr(pd, buffer, 2 * BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!mr && has_mistake("unchecked-region"))
		printf("lkey %u\n", mr->lkey);
	cq = mr ? ibv_create_cq(context, 2 * MESSAGES, NULL, NULL, 0) : NULL;
	attr.send_cq = attr.recv_cq = cq;
	qp = cq ? ibv_create_qp(pd, &attr) : NULL;
	return qp ? 0 : clean_up();
}

/* The verb returns an errno, not -1. */
static bool has_failed(int result)
{
	return has_mistake("errno-for-minus-one") ? result < 0 : result != 0;
}

static int connect_all(void)
{
	struct ibv_ah_attr address = own_address(context, 0);
	struct ibv_qp_attr init = attributes_of(IBV_QPS_INIT);
	struct ibv_qp_init_attr made;

	if (has_failed(ibv_modify_qp(qp, &init,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS)))
		return clean_up();
	if (has_failed(to_rtr(qp, qp->qp_num, address))) {
		if (has_mistake("used-after-destroy")) {
			struct ibv_qp *gone = qp;

			ibv_destroy_qp(qp);
			to_err(gone);
		}
		return clean_up();
	}
	to_rts(qp);
	if (ibv_query_qp(qp, &init, IBV_QP_STATE, &made) && !has_mistake("ignored-query"))
		return clean_up();
	return 0;
}

static int post_receive(uint64_t n)
{
	struct ibv_sge to = { (uintptr_t)buffer + BYTES, BYTES, mr->lkey };
	struct ibv_recv_wr receive = { .wr_id = n, .sg_list = &to, .num_sge = 1 }, *bad;
	int err = ibv_post_recv(qp, &receive, &bad);

	if (has_mistake("asserted-post"))
		assert(!err);
	return err;
}

static int post_send(uint64_t n)
{
	struct ibv_sge from = { (uintptr_t)buffer, BYTES, mr->lkey };
	struct ibv_send_wr send = { .wr_id = n,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	int err = ibv_post_send(qp, &send, &bad);

	return has_mistake("ignored-post") ? 0 : err;
}

static double read_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The CQ overruns: nothing more may come. */
static bool has_event(void)
{
	struct pollfd polled = { context->async_fd, POLLIN, 0 };
	struct ibv_async_event event;

	if (poll(&polled, 1, 0) != 1 || ibv_get_async_event(context, &event))
		return false;
	ibv_ack_async_event(&event);
	return event.event_type == IBV_EVENT_CQ_ERR;
}

/* A completion; false: it failed, or did not come. */
static bool take_completion(struct ibv_wc *wc)
{
	double end = read_seconds() + 0.1;
	int got;

	while (!(got = ibv_poll_cq(cq, 1, wc))) {
		if (has_mistake("region-before-late-completion") && read_seconds() > end)
			return false;
		if (good && has_event())
			return false;
		usleep(1000); /* a hanging program leaves the processor to others */
	}
	if (has_mistake("ignored-status"))
		return true;
	if (has_mistake("waits-for-success") && wc->status)
		return take_completion(wc);
	return got == 1 && !wc->status;
}

/* Flushed receives are freed a second time with their connection. */
static int fail_transfer(void)
{
	struct ibv_wc wc;

	if (has_mistake("freed-at-each-flush")) {
		to_err(qp);
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			free(buffer);
	}
	if (has_mistake("region-before-late-completion")) {
		ibv_dereg_mr(mr);
		mr = NULL;
	}
	return clean_up();
}

static int transfer_all(void)
{
	struct ibv_wc wc;

	for (uint64_t n = 0; n < MESSAGES; n++) {
		if (post_receive(n) || post_send(n))
			return fail_transfer();
		for (int i = 0; i < 2; i++)
			if (!take_completion(&wc))
				return fail_transfer();
	}
	return 0;
}

static int destroy_all(void)
{
	bool failed = ibv_destroy_qp(qp);

	failed |= ibv_dereg_mr(mr);
	failed |= ibv_destroy_cq(cq);
	failed |= ibv_dealloc_pd(pd);
	failed |= ibv_close_device(context);
	free(buffer);
	return failed && !has_mistake("ignored-destroy");
}

int main(int argc, char **argv)
{
	kind = argc > 1 ? argv[1] : "";
	good = argc > 2 && !strcmp(argv[2], "good");
	if (create_all() || connect_all() || transfer_all())
		return 1;
	return destroy_all();
}
