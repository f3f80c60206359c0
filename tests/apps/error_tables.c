/*
 * error_tables KIND[,KIND...] [good]: a program whose error paths of these kinds are broken, or
 * not; here of several regions, queue pairs, lists of requests, and of trying again
 *
 * Two queue pairs: 0 sends lists of 4 messages, 1 receives them. It ends with 0; with a failure
 * with 1, or 0 if it has recovered, unless its error path has the mistake (tests/e2e/torture.sh).
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>

#include "tests/apps/app.h"

enum { ENDS = 2, LIST = 4, LISTS = 3, BYTES = 64, REGION = 16 * BYTES, TRIES = 20, RECEIVES = 8 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cqs[ENDS];
static struct ibv_mr *mrs[ENDS];
static struct ibv_qp *qps[ENDS];
static char memory[ENDS][REGION];
static size_t region = REGION; /* bytes that are registered */
static int outstanding;        /* sends */
static const char *kind;
static bool good;

static bool has_mistake(const char *mistake)
{
	return !good && strstr(kind, mistake);
}

static bool destroy_pairs(void)
{
	bool failed = false;

	for (int i = 0; i < ENDS; i++)
		if (qps[i] && ibv_destroy_qp(qps[i])) {
			failed = true;
			if (has_mistake("cleanup-aborts"))
				abort();
		}
	return failed;
}

/* What was made of it, in the opposite order. Did something fail? */
static bool destroy_all(void)
{
	bool failed;

	failed = destroy_pairs();
	for (int i = has_mistake("first-region-left") && !mrs[1] ? 1 : 0; i < ENDS; i++)
		failed |= mrs[i] && ibv_dereg_mr(mrs[i]);
	for (int i = 0; i < ENDS; i++)
		failed |= cqs[i] && ibv_destroy_cq(cqs[i]);
	failed |= pd && ibv_dealloc_pd(pd);
	return ibv_close_device(context) || failed;
}

/* The status of a program that has failed. */
static int clean_up(void)
{
	destroy_all();
	return 1;
}

static int fail_with(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	return clean_up();
}

/* If all of it cannot be registered, a part is. */
static struct ibv_mr *register_memory(int i)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory[i], region, IBV_ACCESS_LOCAL_WRITE);

	if (mr || !has_mistake("shorter-region"))
		return mr;
	return ibv_reg_mr(pd, memory[i], BYTES, IBV_ACCESS_LOCAL_WRITE);
}

static struct ibv_qp *create_pair(int i)
{
	struct ibv_qp_init_attr attr = { .send_cq = cqs[i],
					 .recv_cq = cqs[i],
					 .cap = { LIST, RECEIVES, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };

	return ibv_create_qp(pd, &attr);
}

/* Destroy the pairs before the one that could not be created. */
static int fail_pair(int failed)
{
	struct ibv_wc wc;

	if (has_mistake("failed-one-too"))
		for (; failed >= 0; failed--)
			ibv_destroy_qp(qps[failed]);
	if (has_mistake("queue-after-destroy")) {
		ibv_destroy_cq(cqs[failed]);
		ibv_poll_cq(cqs[failed], 1, &wc);
		cqs[failed] = NULL;
	}
	return fail_with("ibv_create_qp", ENOMEM);
}

static int create_all(void)
{
	context = open_first_device();
	pd = ibv_alloc_pd(context);
	if (!pd)
		return fail_with("ibv_alloc_pd", ENOMEM);
	for (int i = 0; i < ENDS; i++) {
		mrs[i] = register_memory(i);
		if (!mrs[i])
			return fail_with("ibv_reg_mr", ENOMEM);
		cqs[i] = ibv_create_cq(context, 32, NULL, NULL, 0);
		if (!cqs[i])
			return fail_with("ibv_create_cq", ENOMEM);
	}
	for (int i = 0; i < ENDS; i++) {
		qps[i] = create_pair(i);
		if (!qps[i])
			return fail_pair(i);
	}
	return 0;
}

static int connect_pair(int i)
{
	struct ibv_qp_attr init = attributes_of(IBV_QPS_INIT), rts = attributes_of(IBV_QPS_RTS);
	int error =
		ibv_modify_qp(qps[i], &init,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	if (!error)
		error = to_rtr(qps[i], qps[!i]->qp_num, own_address(context, 0));
	if (error)
		return error;
	return ibv_modify_qp(qps[i], &rts,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_all(void)
{
	int error = connect_pair(0) ?: connect_pair(1);

	return error ? fail_with("ibv_modify_qp", error) : 0;
}

static int post_receive(uint64_t n)
{
	struct ibv_sge to = { (uintptr_t)memory[1] + n % LIST * BYTES, BYTES, mrs[1]->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &to, .num_sge = 1 }, *bad;

	return ibv_post_recv(qps[1], &wr, &bad);
}

struct list {
	struct ibv_send_wr all[LIST];
	struct ibv_sge from[LIST];
};

static void fill_list(struct list *list)
{
	for (int i = 0; i < LIST; i++) {
		list->from[i] = (struct ibv_sge){ (uintptr_t)memory[0] + (uintptr_t)i * BYTES,
						  BYTES, mrs[0]->lkey };
		list->all[i] =
			(struct ibv_send_wr){ .wr_id = (uint64_t)i,
					      .next = i + 1 < LIST ? &list->all[i + 1] : NULL,
					      .sg_list = &list->from[i],
					      .num_sge = 1,
					      .opcode = IBV_WR_SEND,
					      .send_flags = IBV_SEND_SIGNALED };
	}
}

static int count_from(const struct ibv_send_wr *wr)
{
	int n = 0;

	for (; wr; wr = wr->next)
		n++;
	return n;
}

/* Refused requests are posted again after some time. Returns the number of requests, or -errno. */
static int post_list(void)
{
	struct list list;
	struct ibv_send_wr *rest = list.all, *bad = NULL;
	int error = ENOMEM, posted = 0;

	fill_list(&list);
	for (int i = 0; error == ENOMEM && (i < TRIES || has_mistake("tries-forever")); i++) {
		error = ibv_post_send(qps[0], rest, &bad);
		if (!error)
			return has_mistake("list-again") ? LIST : posted + count_from(rest);
		if (has_mistake("refused-count"))
			return LIST;
		posted += count_from(rest) - count_from(bad);
		if (!has_mistake("list-again"))
			rest = bad;
		usleep(1000);
	}
	outstanding += posted;
	return -error;
}

static bool has_event(void)
{
	struct pollfd polled = { context->async_fd, POLLIN, 0 };
	struct ibv_async_event event;

	if (poll(&polled, 1, 0) != 1 || ibv_get_async_event(context, &event))
		return false;
	ibv_ack_async_event(&event);
	return event.event_type == IBV_EVENT_CQ_ERR || event.event_type == IBV_EVENT_QP_FATAL;
}

/* The next completion of end @i; false: none will come. */
static bool take_completion(int i, struct ibv_wc *wc)
{
	int got;

	while (!(got = ibv_poll_cq(cqs[i], 1, wc))) {
		if (has_event())
			return false;
		usleep(500);
	}
	return got == 1;
}

/* Wait until no request of the failed pair is outstanding, before its memory goes. */
static int drain_queues(void)
{
	struct ibv_wc wc;

	if (has_mistake("memory-before-flush"))
		for (int i = 0; i < ENDS; i++) {
			ibv_dereg_mr(mrs[i]);
			mrs[i] = NULL;
		}
	to_err(qps[0]);
	for (int i = 0; i < 1000 && (outstanding || has_mistake("flush-is-none")); i++) {
		if (has_mistake("flush-is-none"))
			i = 0;
		while (ibv_poll_cq(cqs[0], 1, &wc) > 0)
			if (!wc.status || !has_mistake("flush-is-none"))
				outstanding--;
		usleep(1000);
	}
	return clean_up();
}

static int transfer_list(void)
{
	struct ibv_wc wc;
	int posted = 0;

	for (int i = 0; i < LIST && posted >= 0; i++)
		posted = -post_receive((uint64_t)i);
	if (posted >= 0)
		posted = post_list();
	if (posted < 0)
		return drain_queues();
	outstanding += posted;
	for (int left = posted; left; left--) {
		if (!take_completion(0, &wc))
			return drain_queues();
		outstanding--;
		if (wc.status)
			return drain_queues();
	}
	for (int i = 0; i < LIST; i++)
		if (!take_completion(1, &wc) || wc.status)
			return drain_queues();
		else
			assert(wc.wr_id == (uint64_t)i);
	return 0;
}

int main(int argc, char **argv)
{
	kind = argc > 1 ? argv[1] : "";
	good = argc > 2 && !strcmp(argv[2], "good");
	if (create_all() || connect_all())
		return 1;
	for (int i = 0; i < LISTS; i++)
		if (transfer_list())
			return 1;
	return destroy_all();
}
