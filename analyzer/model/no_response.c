/*
 * Requests for which no response came
 *
 * 	post ---- empty polls ---------------- poll		empty polls x pace
 * 	post -- poll -- arm -- ibv_get_cq_event() -- poll	the time in the call
 *
 * The pace of a process is the least time between two of its empty polls, as an average of many: a
 * thread that does not run makes fewer of them. Polls that found other completions meanwhile are
 * added up. Some of the empty polls around the post, or around the last completion of any send of
 * the process, may have come before it: as many as fit into the time before.
 */
#include "analyzer/model/no_response.h"

#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/starved.h"
#include "core/store/read/trace.h"

enum {
	LEAST_POLLS = 64,      /* empty polls needed to estimate the pace */
	SLOWEST_POLL_NS = 250, /* ns: a slower pace counts as this pace */
	LEAST_NS = 250000000,  /* ns */
	/* ns: shorter sleeps do not count, since a thread may be woken late */
	LEAST_SLEPT = 1000000000,
	TIMEOUT_FACTOR = 4, /* of the timeout: InfiniBand specification, 9.7.6.1.3 */
	PER_BYTE = 100,     /* ns: a path has 10 MB/s at least */
};

void no_response_note_armed(struct life *cq, const struct trace_event *event)
{
	if (cq && cq->cq && !event->notify->ret)
		cq->cq->look.armed = event->notify->solicited_only ? 0 : event->time;
}

void no_response_note_event(struct life *cq, const struct trace_event *event)
{
	struct queue_cq_waits *look = cq && cq->cq ? &cq->cq->look : NULL;

	if (!look)
		return;
	look->slept = 0;
	if (look->armed && look->armed <= event->call->begin) {
		look->slept = event->call->begin;
		look->woken = event->time;
		look->covered = look->armed;
		look->sleeper = event->id.thread;
	}
	look->armed = 0;
}

static bool has_sent(const struct poll *poll)
{
	for (uint32_t i = 0; i < poll->nwc; i++)
		if (!poll->wc[i].status && !(poll->wc[i].opcode & ABI_WC_RECV))
			return true;
	return false;
}

static void note_poll_time(struct steady *steady, int64_t ns, uint64_t polls)
{
	double pace = (double)ns / (double)polls;

	if (!steady->pace || pace < steady->pace)
		steady->pace = pace;
}

static void note_poll(struct steady *steady, struct queue_cq_waits *look,
		      const struct trace_event *event)
{
	if (steady && event->poll->empty >= LEAST_POLLS &&
	    look->polls[0].thread == event->id.thread)
		note_poll_time(steady, event->time - look->polls[0].time, event->poll->empty + 1);
	memmove(&look->polls[1], &look->polls[0], sizeof(look->polls) - sizeof(look->polls[0]));
	look->polls[0].time = event->time;
	look->polls[0].empty = event->poll->empty;
	look->polls[0].thread = event->id.thread;
	look->slept = 0;
}

void no_response_note_poll(struct model *model, const struct trace_event *event, struct life *cq)
{
	struct steady *steady =
		event->process < model->nsteadies ? &model->steadies[event->process] : NULL;

	if (steady && has_sent(event->poll))
		steady->completed = event->time;
	if (cq && cq->cq && event->poll->nwc)
		note_poll(steady, &cq->cq->look, event);
}

/*
 * The time of the empty polls of one thread since @since, before @event and before the polls that
 * found other completions.
 */
static double add_polls(const struct queue_cq_waits *look, const struct trace_event *event,
			double pace, int64_t since, uint64_t *ret_empty)
{
	uint64_t empty = event->poll->empty;
	double sum = 0, ns;

	for (int i = 0; i < QUEUE_LOOKS && look->polls[i].thread == event->id.thread; i++) {
		ns = (double)empty * pace;
		*ret_empty += empty;
		if (since > look->polls[i].time) {
			ns -= (double)(since - look->polls[i].time);
			return sum + (ns > 0 ? ns : 0);
		}
		sum += ns;
		empty = look->polls[i].empty;
	}
	return sum;
}

/* How long the CQ was certainly without a completion between @since and the poll. */
static int64_t find_certain_wait(const struct model_complete *complete, const struct steady *steady,
				 int64_t since, struct no_response *slow)
{
	const struct trace_event *event = complete->event;
	const struct queue_cq_waits *look = &complete->cq->cq->look;
	int64_t from = look->slept > since ? look->slept : since;
	double polls;

	/* a completion that was in the CQ when it was armed gives no event */
	if (look->slept && look->covered <= complete->request->time &&
	    look->sleeper == event->id.thread && event->poll->nwc == 1 &&
	    look->woken - from >= LEAST_SLEPT) {
		slow->slept = look->woken - from;
		return slow->slept;
	}
	polls = add_polls(look, event,
			  steady->pace < SLOWEST_POLL_NS ? steady->pace : SLOWEST_POLL_NS, since,
			  &slow->empty);
	return polls < (double)(event->time - since) ? (int64_t)polls : event->time - since;
}

static bool add_bytes(void *arg, const struct queue *queue, const struct queue_request *request)
{
	uint64_t *bytes = arg;

	for (uint32_t i = 0; queue->send && i < request->nsge; i++)
		*bytes += queue_sge(queue, request, i)->length;
	return false;
}

/* The time that all outstanding requests of all processes take. */
static int64_t sum_request_time(const struct model *model)
{
	uint64_t bytes = 0;

	for (uint32_t id = 1; model->trace && trace_process(model->trace, id); id++)
		queues_each(model, id, add_bytes, &bytes);
	return bytes > INT64_MAX / 2 / PER_BYTE ? INT64_MAX / 2 : (int64_t)bytes * PER_BYTE;
}

/*
 * The longest time for which RNR timers delay the request and those before it; INT64_MAX: not
 * known.
 */
static int64_t find_rnr(struct model *model, const struct model_complete *complete)
{
	const struct queue *queue = complete->queue;
	int64_t most = 0;

	for (uint32_t i = 0; i < queue->count && most < INT64_MAX; i++) {
		const struct queue_request *request = queue_at(queue, i);
		int64_t one;

		if (queue_takes_receive(request->opcode) && !request->done) {
			one = starved_limit(model, complete->qp, request);
			most = one > INT64_MAX - most ? INT64_MAX : most + one;
		}
		if (request == complete->request)
			break;
	}
	return most;
}

/* Has the queue pair been able to send all the time since @since? */
static bool could_send_since(const struct qp *qp, int64_t since)
{
	const uint32_t needed = ABI_QP_TIMEOUT | ABI_QP_RETRY_CNT;

	return qp->type == ABI_QPT_RC && qp->state == ABI_QPS_RTS && !qp->changing &&
	       qp->settled <= since && (qp->set & needed) == needed && qp->timeout & 31;
}

bool no_response_find(struct model *model, const struct model_complete *complete,
		      struct no_response *ret_slow)
{
	const struct queue_request *request = complete->request;
	const struct queue *queue = complete->queue;
	const struct steady *steady = steady_of(model, complete->event->process);
	const struct qp *qp = complete->qp ? complete->qp->qp : NULL;
	struct no_response slow = { 0 };
	int64_t since, waited, rnr;

	if (!request || !queue->send || queue->doubt || !qp || !steady || !complete->cq ||
	    !complete->cq->cq || complete->event->poll->wc[complete->index].status)
		return false;
	slow.took = complete->event->time - request->time;
	if (slow.took < LEAST_NS)
		return false;
	since = request->time > steady->completed ? request->time : steady->completed;
	slow.most = TIMEOUT_FACTOR * (INT64_C(4096) << (qp->timeout & 31));
	if (!could_send_since(qp, since))
		return false;
	waited = find_certain_wait(complete, steady, since, &slow);
	if (waited < LEAST_NS || waited <= slow.most)
		return false;
	rnr = find_rnr(model, complete);
	if (rnr == INT64_MAX || waited - slow.most <= rnr ||
	    waited - slow.most - rnr <= sum_request_time(model))
		return false;
	*ret_slow = slow;
	return true;
}
