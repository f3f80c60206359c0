/*
 * Concludes what a process waits for
 *
 * Each function looks for one kind of reason and adds what it finds. A process may have several;
 * the order of enum reason_kind says which is the best explanation. Each text is a sentence about
 * the process: "waits for ...".
 *
 * Texts contain no foreign names, but functions', which are made printable where they are printed.
 */
#include "cli/attach/reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <infiniband/verbs.h>

#include "analyzer/model/qp.h"
#include "cli/attach/facts.h"
#include "cli/attach/handles.h"

/* clang-format off */
static const char *const names[REASON_KINDS] = {
	[REASON_DEADLOCK] = "deadlock",
	[REASON_DESTROY] = "destroy",
	[REASON_LIMIT] = "limit",
	[REASON_LOST_WAKEUP] = "lost_wakeup",
	[REASON_PEER_ENDED] = "peer_ended",
	[REASON_NOT_READY] = "receiver_not_ready",
	[REASON_QUEUE_FULL] = "queue_full",
	[REASON_NEAR_LIMIT] = "near_limit",
	[REASON_STATE] = "state",
	[REASON_CM_EVENT] = "cm_event",
	[REASON_NOT_POLLED] = "not_polled",
	[REASON_MESSAGE] = "message",
	[REASON_EVENT] = "event",
	[REASON_VERB] = "verb",
	[REASON_SLEEPS] = "sleeps",
	[REASON_RUNS] = "runs",
	[REASON_NOTHING] = "nothing",
};

/* Verbs that wait, and the reason why they wait. */
static const struct blocking_verb {
	const char *function;
	enum reason_kind kind;
	const char *text;
} blocking[] = {
	{ "ibv_destroy_cq", REASON_DESTROY,
	  "until all completion events that were taken from the CQ are acknowledged "
	  "(ibv_ack_cq_events)" },
	{ "ibv_destroy_qp", REASON_DESTROY,
	  "until all asynchronous events of the queue pair are acknowledged "
	  "(ibv_ack_async_event)" },
	{ "ibv_destroy_srq", REASON_DESTROY,
	  "until all asynchronous events of the SRQ are acknowledged (ibv_ack_async_event)" },
	{ "rdma_destroy_id", REASON_DESTROY,
	  "until all events of the id are acknowledged (rdma_ack_cm_event)" },
	{ "rdma_get_cm_event", REASON_CM_EVENT,
	  "for an event of the connection manager: the peer has not connected, answered or "
	  "disconnected" },
	{ "rdma_get_request", REASON_CM_EVENT, "for a connection request: no peer has connected" },
	{ "rdma_resolve_addr", REASON_CM_EVENT, "for the address to be resolved" },
	{ "rdma_connect", REASON_CM_EVENT, "for the peer to accept the connection" },
	{ "rdma_accept", REASON_CM_EVENT, "for the connection to be established" },
	{ "ibv_get_cq_event", REASON_EVENT, "for a completion event" },
	{ "rdma_get_recv_comp", REASON_EVENT, "for the completion of a receive" },
	{ "rdma_get_send_comp", REASON_EVENT, "for the completion of a send" },
	{ "ibv_get_async_event", REASON_NOTHING, "for an asynchronous event, which is normal" },
	{ NULL, 0, NULL },
};
/* clang-format on */

const char *reason_name(enum reason_kind kind)
{
	return names[kind];
}

/*
 * Add a reason, after all reasons as good or better. If there are too many, the worst is dropped.
 */
__attribute__((format(printf, 4, 5))) static void
add_reason(struct reasons *reasons, enum reason_kind kind, pid_t tid, const char *format, ...)
{
	size_t at = reasons->n;
	va_list args;

	while (at && reasons->at[at - 1].kind > kind)
		at--;
	if (at == REASONS_MAX)
		return;
	if (reasons->n < REASONS_MAX)
		reasons->n++;
	memmove(&reasons->at[at + 1], &reasons->at[at],
		(reasons->n - at - 1) * sizeof(*reasons->at));
	reasons->at[at].kind = kind;
	reasons->at[at].tid = tid;
	va_start(args, format);
	vsnprintf(reasons->at[at].text, REASON_TEXT, format, args);
	va_end(args);
}

/* Threads */

static const struct blocking_verb *find_blocking(const struct facts *facts, size_t thread)
{
	for (const struct blocking_verb *b = blocking; b->function; b++)
		if (facts_is_in(facts, thread, b->function))
			return b;
	return NULL;
}

/* A thread of the software device: it runs code of the device, and is not in a verb. */
static bool is_of_device(const struct facts *facts, size_t thread)
{
	const struct unwind_stack *stack = facts->stacks ? &facts->stacks[thread] : NULL;
	char verb[UNWIND_NAME];

	for (size_t i = 0; stack && i < stack->n; i++)
		if (!strcmp(stack->frames[i].module, "libverbatim-soft.so"))
			return !facts_verb(facts, thread, verb);
	return false;
}

static bool is_explained(const struct reasons *reasons, pid_t tid)
{
	for (size_t i = 0; i < reasons->n; i++)
		if (reasons->at[i].tid == tid)
			return true;
	return false;
}

static void find_blocked_verbs(const struct facts *facts, struct reasons *reasons)
{
	for (size_t i = 0; i < facts->process.nthreads; i++) {
		const struct target_thread *thread = &facts->process.threads[i];
		const struct blocking_verb *in = find_blocking(facts, i);
		char verb[UNWIND_NAME];

		if (is_of_device(facts, i) || is_explained(reasons, thread->tid))
			continue;
		if (in)
			add_reason(reasons, in->kind, thread->tid, "waits in %s() %s", in->function,
				   in->text);
		else if (facts_verb(facts, i, verb))
			add_reason(reasons, REASON_VERB, thread->tid, "is in %s()", verb);
		else if (thread->state == 'R')
			add_reason(reasons, REASON_RUNS, thread->tid,
				   "runs, and was not in a verb at this moment");
		else if (thread->state && thread->state != 'Z')
			add_reason(reasons, REASON_SLEEPS, thread->tid, "sleeps in %.60s",
				   thread->wchan[0] ? thread->wchan : "the kernel");
	}
}

/* Mutexes: glibc's pthread_mutex_t has its lock word first, and its owner as the third word. */

struct mutex_wait {
	uint64_t mutex;
	pid_t owner;
};

static struct mutex_wait find_wait(const struct facts *facts, size_t i)
{
	const struct target_thread *thread = &facts->process.threads[i];
	struct {
		int32_t lock;
		uint32_t count;
		int32_t owner;
	} mutex;
	struct mutex_wait none = { 0, 0 };

	if (thread->syscall != SYS_futex || !facts->memory.read ||
	    !(facts_is_in(facts, i, "pthread_mutex_lock") ||
	      facts_is_in(facts, i, "lll_lock_wait")) ||
	    !memory_get(&facts->memory, thread->arguments[0], &mutex, sizeof(mutex)) ||
	    !mutex.lock || mutex.owner <= 0)
		return none;
	return (struct mutex_wait){ thread->arguments[0], mutex.owner };
}

/* The thread with number @tid. In a PID namespace threads have other numbers, and none is found. */
static size_t find_thread(const struct facts *facts, pid_t tid)
{
	size_t i = 0;

	while (i < facts->process.nthreads && facts->process.threads[i].tid != tid)
		i++;
	return i;
}

/*
 * Follow the owners from thread @i: do they lead back to @i? Returns the next thread of the cycle,
 * or n.
 */
static size_t find_cycle(const struct facts *facts, const struct mutex_wait *waits, size_t i)
{
	size_t n = facts->process.nthreads, at = i, first = n;

	for (size_t steps = 0; steps <= n && waits[at].owner; steps++) {
		at = find_thread(facts, waits[at].owner);
		if (at == n)
			return n;
		if (!steps)
			first = at;
		if (at == i)
			return first;
	}
	return n;
}

static void find_deadlocks(const struct facts *facts, struct reasons *reasons)
{
	size_t n = facts->process.nthreads;
	struct mutex_wait *waits = calloc(n + 1, sizeof(*waits));

	for (size_t i = 0; waits && i < n; i++)
		waits[i] = find_wait(facts, i);
	for (size_t i = 0; waits && i < n; i++) {
		pid_t tid = facts->process.threads[i].tid;

		if (!waits[i].owner)
			continue;
		if (find_cycle(facts, waits, i) < n)
			add_reason(reasons, REASON_DEADLOCK, tid,
				   "is in a deadlock: it waits for the mutex at 0x%" PRIx64
				   ", which thread %d holds while that waits for a mutex itself",
				   waits[i].mutex, (int)waits[i].owner);
		else
			add_reason(reasons, REASON_VERB, tid,
				   "waits for the mutex at 0x%" PRIx64 ", which thread %d holds",
				   waits[i].mutex, (int)waits[i].owner);
	}
	free(waits);
}

/* Limits */

static bool has_function(const struct facts *facts, const char *function)
{
	for (size_t i = 0; i < facts->process.nthreads; i++)
		if (facts_is_in(facts, i, function))
			return true;
	return false;
}

static void find_limits(const struct facts *facts, struct reasons *reasons)
{
	uint64_t limit = facts_memlock(facts), pinned = facts_pinned(facts);
	bool registers = has_function(facts, "ibv_reg_mr");

	if (limit == UINT64_MAX || (!registers && pinned < limit / 4 * 3))
		return;
	add_reason(
		reasons, registers ? REASON_LIMIT : REASON_NEAR_LIMIT, 0,
		"%s: %" PRIu64 " KiB are pinned and RLIMIT_MEMLOCK is %" PRIu64
		" KiB, without CAP_IPC_LOCK: ibv_reg_mr() fails with ENOMEM above it (ulimit -l)",
		registers ? "registers memory" : "has pinned most of the memory that it may lock",
		pinned >> 10, limit >> 10);
}

/* Queues of the software device */

/*
 * Events that were retrieved and not acknowledged: a thread that destroys the CQ waits for their
 * acknowledgement.
 */
static void find_unacknowledged(const struct facts *facts, struct reasons *reasons)
{
	bool destroys = has_function(facts, "ibv_destroy_cq");

	for (size_t i = 0; destroys && i < facts->handles.ncqs; i++) {
		const struct handle_cq *cq = &facts->handles.cqs[i];
		uint32_t n = cq->events_got - cq->events_acked;

		if (cq->slot >= 0 && n)
			add_reason(reasons, REASON_DESTROY, 0,
				   "%u event%s taken from CQ %" PRId64
				   " of the fabric, of which %u %s not acknowledged",
				   cq->events_got, cq->events_got == 1 ? "" : "s", cq->slot, n,
				   n == 1 ? "is" : "are");
	}
}

static bool is_connected(const struct fabric_qp *qp)
{
	return qp->type == IBV_QPT_RC || qp->type == IBV_QPT_UC;
}

static bool waits_for_events(const struct facts *facts)
{
	return has_function(facts, "ibv_get_cq_event") || has_function(facts, "poll") ||
	       has_function(facts, "ppoll") || has_function(facts, "epoll_wait") ||
	       has_function(facts, "select");
}

static void find_lost_wakeups(const struct facts *facts, struct reasons *reasons)
{
	bool waits = waits_for_events(facts);

	for (size_t i = 0; i < facts->fabric.ncqs; i++) {
		const struct fabric_cq *cq = &facts->fabric.cqs[i];

		if (cq->waiting && cq->channel && waits)
			add_reason(reasons, REASON_LOST_WAKEUP, 0,
				   "lost wake-up: waits for an event, but %u completion%s in CQ %u "
				   "of the fabric, which is %sarmed: it was not polled again after "
				   "ibv_req_notify_cq()",
				   cq->waiting, cq->waiting == 1 ? " is" : "s are", cq->slot,
				   cq->armed ? "" : "not ");
		else if (cq->waiting)
			add_reason(reasons, REASON_NOT_POLLED, 0,
				   "%u completion%s in CQ %u of the fabric, not polled",
				   cq->waiting, cq->waiting == 1 ? " is" : "s are", cq->slot);
	}
}

static void find_unarmed(const struct facts *facts, struct reasons *reasons)
{
	size_t armed = 0, channels = 0;

	for (size_t i = 0; i < facts->fabric.ncqs; i++) {
		channels += facts->fabric.cqs[i].channel;
		armed += facts->fabric.cqs[i].channel && facts->fabric.cqs[i].armed;
	}
	if (channels && !armed && has_function(facts, "ibv_get_cq_event"))
		add_reason(reasons, REASON_LOST_WAKEUP, 0,
			   "waits for a completion event, but no CQ is armed (ibv_req_notify_cq): "
			   "none will come unless one was sent already");
}

static void explain_peer(const struct fabric_qp *qp, struct reasons *reasons)
{
	const struct fabric_peer *peer = &qp->peer;

	if (!peer->known || peer->ended)
		add_reason(reasons, REASON_PEER_ENDED, 0,
			   "queue pair 0x%x is connected to queue pair 0x%x, %s: nothing will come "
			   "from there",
			   qp->qpn, qp->dest_qpn,
			   peer->known ? "whose process has ended"
				       : "which does not exist any more");
}

/* A full queue from which nothing will be removed. */
static void explain_full(const struct handle_qp *object, struct reasons *reasons)
{
	const struct handle_sq *sq = &object->sq;

	if (sq->outstanding < sq->depth || sq->wait != HANDLE_RUNS)
		return;
	if (!sq->signalled)
		add_reason(reasons, REASON_QUEUE_FULL, 0,
			   "the send queue of queue pair 0x%x is full: %u of %u requests are "
			   "outstanding, and none of them is signalled, so no completion will free "
			   "a slot",
			   object->qpn, sq->outstanding, sq->depth);
	else
		add_reason(reasons, REASON_QUEUE_FULL, 0,
			   "the send queue of queue pair 0x%x is full: %u of %u requests are "
			   "outstanding, %u of them executed: their completions are not polled",
			   object->qpn, sq->outstanding, sq->depth, sq->executed);
}

/* The first request of the send queue that is not executed. */
static void explain_request(const struct handle_qp *object, const struct fabric_qp *qp,
			    struct reasons *reasons)
{
	const struct handle_sq *sq = &object->sq;

	if (sq->wait == HANDLE_WAITS_RECEIVER)
		add_reason(reasons, REASON_NOT_READY, 0,
			   "waits for a receiver that is not ready (RNR): queue pair 0x%x has %u "
			   "request%s outstanding, and process %d has %u receives posted for its "
			   "peer 0x%x",
			   qp->qpn, sq->outstanding, sq->outstanding == 1 ? "" : "s",
			   (int)qp->peer.pid, qp->peer.rq.posted, qp->dest_qpn);
	else if (sq->wait == HANDLE_WAITS_PEER)
		add_reason(
			reasons, REASON_PEER_ENDED, 0,
			"waits for a peer that does not answer: queue pair 0x%x has %u request%s "
			"outstanding to 0x%x of process %d",
			qp->qpn, sq->outstanding, sq->outstanding == 1 ? "" : "s", qp->dest_qpn,
			(int)qp->peer.pid);
	else
		explain_full(object, reasons);
}

/*
 * Without access to the process's memory: the device retries a message that has no receive.
 */
static void explain_receiver(const struct fabric_qp *qp, struct reasons *reasons)
{
	const struct fabric_peer *peer = &qp->peer;

	if (peer->seen && !peer->ended && !peer->rq.posted && peer->state >= IBV_QPS_RTR &&
	    qp->state == IBV_QPS_RTS && qp->type == IBV_QPT_RC)
		add_reason(
			reasons, REASON_NOT_READY, 0,
			"waits for a receiver that is not ready (RNR): the device tries requests "
			"again, and process %d has no receive posted for queue pair 0x%x, the peer "
			"of 0x%x",
			(int)peer->pid, qp->dest_qpn, qp->qpn);
}

static void explain_state(const struct fabric_qp *qp, struct reasons *reasons)
{
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		add_reason(reasons, REASON_STATE, 0,
			   "queue pair 0x%x is in state %s: its requests are flushed, and it "
			   "neither sends nor receives",
			   qp->qpn, qp_state_name((int)qp->state));
	else if (qp->state != IBV_QPS_RTS)
		add_reason(reasons, REASON_STATE, 0,
			   "queue pair 0x%x is in state %s: it cannot send before RTS%s", qp->qpn,
			   qp_state_name((int)qp->state),
			   qp->state == IBV_QPS_RTR ? "" : ", nor receive before RTR");
}

static void explain_waiting(const struct fabric_qp *qp, struct reasons *reasons)
{
	if (qp->state == IBV_QPS_RTS && qp->rq.posted)
		add_reason(reasons, REASON_MESSAGE, 0,
			   "waits for a message: queue pair 0x%x has %u of %u receives posted, and "
			   "nothing has arrived for them from process %d, queue pair 0x%x",
			   qp->qpn, qp->rq.posted, qp->rq.size, (int)qp->peer.pid, qp->dest_qpn);
}

static void find_queues(const struct facts *facts, struct reasons *reasons)
{
	bool retries = has_function(facts, "run_retries");
	const struct handle_qp *object;

	for (size_t i = 0; i < facts->fabric.nqps; i++) {
		const struct fabric_qp *qp = &facts->fabric.qps[i];

		explain_state(qp, reasons);
		if (!is_connected(qp) || qp->state < IBV_QPS_RTR || qp->state > IBV_QPS_SQD)
			continue;
		explain_peer(qp, reasons);
		object = handles_qp(&facts->handles, qp->qpn);
		if (object && object->sq.known)
			explain_request(object, qp, reasons);
		else if (retries)
			explain_receiver(qp, reasons);
		if (qp->peer.known && !qp->peer.ended)
			explain_waiting(qp, reasons);
	}
}

/* Queues of the kernel's devices */

static bool has_kernel_qp(const struct facts *facts, enum ibv_qp_state state)
{
	for (size_t i = 0; i < facts->kernel.n; i++)
		if (facts->kernel.objects[i].kind == KERNEL_QP &&
		    facts->kernel.objects[i].state == state)
			return true;
	return false;
}

/*
 * A program may have spare queue pairs: a queue pair in RESET explains nothing if another can send.
 */
static void find_kernel_states(const struct facts *facts, struct reasons *reasons)
{
	const bool connected = has_kernel_qp(facts, IBV_QPS_RTS);

	for (size_t i = 0; i < facts->kernel.n; i++) {
		const struct kernel_object *object = &facts->kernel.objects[i];

		if (object->kind == KERNEL_QP && object->state != IBV_QPS_RTS &&
		    object->type != IBV_QPT_XRC_RECV &&
		    !(connected && object->state == IBV_QPS_RESET))
			add_reason(reasons, REASON_STATE, 0,
				   "queue pair 0x%x of %.60s is in state %s", object->number,
				   object->device, qp_state_name(object->state));
	}
}

/* A queue pair of the process itself, by its number. */
static const struct kernel_object *find_kernel_qp(const struct facts *facts, uint32_t qpn)
{
	for (size_t i = 0; i < facts->kernel.n; i++)
		if (facts->kernel.objects[i].kind == KERNEL_QP &&
		    facts->kernel.objects[i].number == qpn)
			return &facts->kernel.objects[i];
	return NULL;
}

static void explain_rings(const struct handle_qp *qp, const struct kernel_object *object,
			  const struct handle_qp *peer, struct reasons *reasons)
{
	const struct handle_rings *r = &qp->rings;

	if (r->needs_receive && peer && peer->rings.known && !peer->rings.receives && !peer->srq)
		add_reason(reasons, REASON_NOT_READY, 0,
			   "waits for a receiver that is not ready (RNR): queue pair 0x%x has %u "
			   "request%s outstanding, and its peer 0x%x has no receive posted",
			   qp->qpn, r->sends, r->sends == 1 ? "" : "s", object->peer);
	else if (r->sends && r->sends == r->sends_most)
		add_reason(reasons, REASON_QUEUE_FULL, 0,
			   "the send queue of queue pair 0x%x is full: %u of %u requests are "
			   "outstanding",
			   qp->qpn, r->sends, r->sends_most);
	else if (r->sends)
		add_reason(reasons, REASON_MESSAGE, 0,
			   "queue pair 0x%x has %u request%s outstanding to its peer 0x%x", qp->qpn,
			   r->sends, r->sends == 1 ? "" : "s", object->peer);
	else if (r->receives)
		add_reason(reasons, REASON_MESSAGE, 0,
			   "waits for a message: queue pair 0x%x has %u receives posted, and "
			   "nothing has arrived for them from its peer 0x%x",
			   qp->qpn, r->receives, object->peer);
}

/* The queues of rxe. The kernel does not tell where the peer is. */
static void find_kernel_queues(const struct facts *facts, struct reasons *reasons)
{
	for (size_t i = 0; i < facts->kernel.n; i++) {
		const struct kernel_object *object = &facts->kernel.objects[i];
		const struct handle_qp *qp = object->kind == KERNEL_QP
						     ? handles_qp(&facts->handles, object->number)
						     : NULL;

		if (!qp || !qp->rings.known || object->state != IBV_QPS_RTS ||
		    object->type != IBV_QPT_RC)
			continue;
		explain_rings(qp, object, handles_qp(&facts->handles, object->peer), reasons);
		if (!find_kernel_qp(facts, object->peer))
			add_reason(reasons, REASON_MESSAGE, 0,
				   "waits for queue pair 0x%x, the peer of 0x%x, which belongs to "
				   "another process or another machine, or whose process has "
				   "ended",
				   object->peer, qp->qpn);
	}
}

static void find_kernel_wakeups(const struct facts *facts, struct reasons *reasons)
{
	bool waits = waits_for_events(facts);

	for (size_t i = 0; i < facts->handles.ncqs; i++) {
		const struct handle_cq *cq = &facts->handles.cqs[i];

		if (!cq->counted || !cq->waiting)
			continue;
		add_reason(reasons, waits && cq->channel ? REASON_LOST_WAKEUP : REASON_NOT_POLLED,
			   0, "%s%u completion%s in the CQ at 0x%" PRIx64 ", not polled%s",
			   waits && cq->channel ? "lost wake-up: waits for an event, but " : "",
			   cq->waiting, cq->waiting == 1 ? " is" : "s are", cq->at,
			   waits && cq->channel ? " again after ibv_req_notify_cq()" : "");
	}
}

/* In a core, or where neither the kernel nor the fabric knows the states. */
static void find_states_in_memory(const struct facts *facts, struct reasons *reasons)
{
	if (facts->fabric.instance || facts->kernel.n)
		return;
	for (size_t i = 0; i < facts->handles.nqps; i++) {
		const struct handle_qp *qp = &facts->handles.qps[i];

		if (qp->state != IBV_QPS_RTS && qp->type != IBV_QPT_XRC_RECV)
			add_reason(reasons, REASON_STATE, 0,
				   "queue pair 0x%x is in state %s, as far as the program knows",
				   qp->qpn, qp_state_name((int)qp->state));
	}
}

void reasons_find(const struct facts *facts, struct reasons *ret_reasons)
{
	ret_reasons->n = 0;
	find_deadlocks(facts, ret_reasons);
	find_limits(facts, ret_reasons);
	find_lost_wakeups(facts, ret_reasons);
	find_unarmed(facts, ret_reasons);
	find_queues(facts, ret_reasons);
	find_kernel_states(facts, ret_reasons);
	find_kernel_queues(facts, ret_reasons);
	find_kernel_wakeups(facts, ret_reasons);
	find_states_in_memory(facts, ret_reasons);
	find_blocked_verbs(facts, ret_reasons);
	find_unacknowledged(facts, ret_reasons);
	if (!ret_reasons->n)
		add_reason(ret_reasons, REASON_NOTHING, 0, "no reason to wait was found");
}
