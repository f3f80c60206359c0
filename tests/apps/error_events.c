/*
 * error_events KIND[,KIND...] [good]: a program whose error paths of these kinds are broken, or
 * not; here of events of a CQ and of the device, of threads, and of requests in memory of malloc()
 *
 * It sends 8 messages to itself, waits for each by an event, and has a thread for the device's
 * events. It ends with 0; with a failure with 1, unless its error path has the mistake
 * (tests/e2e/torture.sh).
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/apps/app.h"

enum { MESSAGES = 8, BYTES = 64 };

struct request {
	char bytes[BYTES];
	int *counter; /* counts the outstanding events */
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct request *requests;
static int outstanding;
static unsigned int got; /* events of the CQ that are not acknowledged */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t watcher, poller;
static bool watches, polls;
static atomic_bool over, failed;
static const char *kind;
static bool good;

static bool has_mistake(const char *mistake)
{
	return !good && strstr(kind, mistake);
}

/* The device's events, until the program is over. */
static void *watch_device(void *arg)
{
	struct pollfd polled = { context->async_fd, POLLIN, 0 };
	struct ibv_async_event event;

	(void)arg;
	while (!over) {
		if (poll(&polled, 1, 20) != 1 || ibv_get_async_event(context, &event))
			continue;
		if (has_mistake("unacknowledged-by-watcher"))
			continue;
		pthread_mutex_lock(&lock);
		failed = true;
		while (has_mistake("waits-with-lock") && !over)
			usleep(2000);
		pthread_mutex_unlock(&lock);
		ibv_ack_async_event(&event);
	}
	return NULL;
}

/* A thread that looks for completions nobody waits for. */
static void *poll_rest(void *arg)
{
	struct ibv_wc wc;

	(void)arg;
	while (!over) {
		ibv_poll_cq(cq, 1, &wc);
		usleep(2000);
	}
	return NULL;
}

static void stop_threads(void)
{
	pthread_mutex_lock(&lock);
	over = true;
	pthread_mutex_unlock(&lock);
	if (watches)
		pthread_join(watcher, NULL);
	if (polls)
		pthread_join(poller, NULL);
	watches = polls = false;
}

static bool destroy_all(bool after_failure)
{
	bool wrong = false;

	if (!after_failure || !has_mistake("thread-left"))
		stop_threads();
	wrong |= qp && ibv_destroy_qp(qp);
	wrong |= mr && ibv_dereg_mr(mr);
	if (got && !(after_failure && has_mistake("unacknowledged-at-failure")))
		ibv_ack_cq_events(cq, got);
	wrong |= cq && ibv_destroy_cq(cq);
	wrong |= channel && ibv_destroy_comp_channel(channel);
	wrong |= pd && ibv_dealloc_pd(pd);
	if (after_failure && has_mistake("thread-left"))
		usleep(50000);
	wrong |= ibv_close_device(context);
	if (after_failure && has_mistake("thread-left"))
		stop_threads();
	free(requests);
	return wrong;
}

static int clean_up(void)
{
	destroy_all(true);
	return 1;
}

static int create_all(void)
{
	struct ibv_qp_init_attr attr = { .cap = { MESSAGES, MESSAGES, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };

	context = open_first_device();
	requests = calloc(2, sizeof(*requests));
	requests[0].counter = requests[1].counter = &outstanding;
	pd = ibv_alloc_pd(context);
	mr = pd ? ibv_reg_mr(pd, requests, 2 * sizeof(*requests), IBV_ACCESS_LOCAL_WRITE) : NULL;
	channel = mr ? ibv_create_comp_channel(context) : NULL;
	cq = channel ? ibv_create_cq(context, 2 * MESSAGES, NULL, channel, 0) : NULL;
	attr.send_cq = attr.recv_cq = cq;
	qp = cq ? ibv_create_qp(pd, &attr) : NULL;
	if (!qp)
		return clean_up();
	watches = !pthread_create(&watcher, NULL, watch_device, NULL);
	polls = has_mistake("thread-left") && !pthread_create(&poller, NULL, poll_rest, NULL);
	return 0;
}

static int connect_all(void)
{
	struct ibv_qp_attr init = attributes_of(IBV_QPS_INIT), rts = attributes_of(IBV_QPS_RTS);
	int error = ibv_modify_qp(qp, &init,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					  IBV_QP_ACCESS_FLAGS)
			    ?: to_rtr(qp, qp->qp_num, own_address(context, 0))
			    ?: ibv_modify_qp(qp, &rts,
					     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
						     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						     IBV_QP_MAX_QP_RD_ATOMIC);

	return error ? clean_up() : 0;
}

static int post_message(void)
{
	struct ibv_sge from = { (uintptr_t)requests[0].bytes, BYTES, mr->lkey };
	struct ibv_sge to = { (uintptr_t)requests[1].bytes, BYTES, mr->lkey };
	struct ibv_recv_wr receive = { .wr_id = (uintptr_t)&requests[1],
				       .sg_list = &to,
				       .num_sge = 1 },
			   *bad_receive;
	struct ibv_send_wr send = { .wr_id = (uintptr_t)&requests[0],
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (ibv_post_recv(qp, &receive, &bad_receive))
		return 1;
	outstanding++;
	if (ibv_post_send(qp, &send, &bad))
		return 1;
	outstanding++;
	return 0;
}

/* Wait for the event of the CQ; false: there is none, and will be none. */
static bool await_event(void)
{
	struct pollfd polled = { channel->fd, POLLIN, 0 };
	struct ibv_cq *of;
	void *arg;

	while (poll(&polled, 1, 20) != 1)
		if (failed && !has_mistake("waits-for-all"))
			return false;
	if (ibv_get_cq_event(channel, &of, &arg))
		return false;
	got++;
	return !ibv_req_notify_cq(cq, 0) || has_mistake("second-arm-ignored");
}

/* The opcode says which request it is, or wr_id. */
static void end_request(const struct ibv_wc *wc)
{
	struct request *request = (struct request *)(uintptr_t)wc->wr_id;
	static int *const counters[] = { &outstanding };

	if (has_mistake("opcode-of-failed") && wc->status)
		--*counters[wc->opcode & ~IBV_WC_RECV];
	else
		--*request->counter;
}

static bool take_all(void)
{
	struct ibv_wc wc;
	bool well = true;
	int n;

	while (outstanding && well) {
		if (!await_event())
			return false;
		while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
			end_request(&wc);
			well &= !wc.status;
		}
		well &= !n;
	}
	return well;
}

/* The rest is flushed; those who posted it are told. */
static int fail_transfer(void)
{
	struct ibv_wc wc;

	to_err(qp);
	if (has_mistake("request-freed")) {
		ibv_dereg_mr(mr);
		mr = NULL;
		free(requests);
		requests = NULL;
	}
	for (int i = 0; i < 200 && outstanding > 0; i++) {
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			end_request(&wc);
		usleep(1000);
	}
	return clean_up();
}

int main(int argc, char **argv)
{
	kind = argc > 1 ? argv[1] : "";
	good = argc > 2 && !strcmp(argv[2], "good");
	if (create_all() || connect_all())
		return 1;
	if (ibv_req_notify_cq(cq, 0) && !has_mistake("first-arm-ignored"))
		return clean_up();
	for (int i = 0; i < MESSAGES; i++)
		if (post_message() || !take_all())
			return fail_transfer();
	return destroy_all(false);
}
