/*
 * Faults of posts
 *
 * From the first request with a fault on, the requests of a list are posted one by one. The
 * program's list is not changed: copies are posted, but *bad_wr points to the program's request.
 *
 * Not here: builders of requests (builders.c); completions (polls.c).
 */
#include "shim/trace/faults/posts.h"

#include <errno.h>
#include <string.h>

#include "shim/trace/faults/async.h"
#include "shim/trace/faults/original.h"
#include "shim/trace/faults/connected.h"
#include "shim/trace/faults/forced_status.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/postponed.h"

static const char *status_name(int status)
{
	const char *name = enum_name(enum_find("ibv_wc_status"), status);

	return name ? name + strlen("IBV_WC_") : "";
}

void posts_note_status(const struct planned_fault *planned, uint32_t qpn)
{
	plan_note(planned, "a request of QP 0x%x gets %s", qpn, status_name(planned->fault.value));
}

int posts_refuse(const struct planned_fault *planned, uint32_t qpn)
{
	plan_note(planned, "a request of QP 0x%x is refused with %s", qpn,
		  strerrorname_np(planned->fault.value));
	return planned->fault.value;
}

void posts_note_delay(const struct planned_fault *planned, uint32_t qpn)
{
	plan_note(planned, "a request of QP 0x%x is delayed by %llu us", qpn,
		  (unsigned long long)planned->fault.ns / 1000);
}

void posts_disconnect(const struct planned_fault *planned, struct ibv_qp *qp)
{
	if (connected_disconnect(qp))
		plan_note(planned, "the connection of QP 0x%x is ended", qp->qp_num);
}

uint32_t posts_bytes(const struct ibv_sge *sges, int n)
{
	uint64_t total = 0;

	for (int i = 0; i < n && sges; i++)
		total += sges[i].length;
	return !total ? 1 : total < (1u << 30) ? (uint32_t)total : 1u << 30;
}

static struct ibv_sge forbidden_sge(const struct ibv_sge *sges, int n)
{
	return (struct ibv_sge){ .addr = n > 0 && sges ? sges->addr : 0x1000,
				 .length = posts_bytes(sges, n),
				 .lkey = UNKNOWN_KEY };
}

/* Post one request after @ns, but not before requests that wait. */
static int submit_send(struct ibv_qp *qp, struct ibv_send_wr *wr, uint64_t ns, post_send_fn *behind)
{
	struct ibv_send_wr *bad;

	wr->next = NULL;
	if (ns || postponed_has_key(qp))
		return postponed_add_send(qp, wr, ns, behind);
	return behind(qp, wr, &bad);
}

/*
 * Post a send that fails. Any operation becomes a SEND, which fails before anything is sent; a
 * completion in error has no valid opcode.
 */
static int post_failing_send(struct ibv_qp *qp, const struct ibv_send_wr *wr,
			     const struct fault *fault, post_send_fn *behind)
{
	struct ibv_sge sge = forbidden_sge(wr->sg_list, wr->num_sge);
	struct ibv_send_wr copy = *wr;
	int ret;

	copy.sg_list = &sge;
	copy.num_sge = 1;
	copy.opcode = IBV_WR_SEND;
	copy.send_flags = (wr->send_flags & ~(unsigned int)IBV_SEND_INLINE) | IBV_SEND_SIGNALED;
	if (forced_status_add(qp, qp->qp_num, wr->wr_id, fault))
		return ENOMEM;
	ret = submit_send(qp, &copy, 0, behind);
	if (ret)
		forced_status_take_back(qp, wr->wr_id);
	return ret;
}

/*
 * Does the device flush requests posted after a failure? siw flushes only those that were posted
 * before the queue pair failed.
 */
static bool flushes_later_posts(const struct ibv_qp *qp)
{
	return qp->context->device->transport_type != IBV_TRANSPORT_IWARP;
}

static int post_one_send(struct ibv_qp *qp, const struct ibv_send_wr *wr,
			 const struct planned_fault *planned, post_send_fn *behind)
{
	struct ibv_send_wr copy = *wr;
	uint64_t ns = 0;

	switch (planned->fault.kind) {
	case FAULT_ERRNO:
		return posts_refuse(planned, qp->qp_num);
	case FAULT_STATUS:
		posts_note_status(planned, qp->qp_num);
		if (planned->fault.value != IBV_WC_WR_FLUSH_ERR || !flushes_later_posts(qp))
			return post_failing_send(qp, wr, &planned->fault, behind);
		postponed_release(qp);
		original_fail_qp(qp);
		break;
	case FAULT_EVENT:
		postponed_release(qp);
		async_inject(planned, qp, NULL);
		break;
	case FAULT_DISCONNECT:
		posts_disconnect(planned, qp);
		break;
	case FAULT_DELAY:
		posts_note_delay(planned, qp->qp_num);
		ns = planned->fault.ns;
		break;
	default:
		break;
	}
	return submit_send(qp, &copy, ns, behind);
}

/* A receive queue, and the key of its postponed requests. */
struct receives {
	void *queue;
	const void *key;
	uint32_t qpn; /* 0: a shared receive queue */
	post_recv_fn *behind;
};

static int submit_recv(const struct receives *to, struct ibv_recv_wr *wr, uint64_t ns)
{
	struct ibv_recv_wr *bad;

	wr->next = NULL;
	if (ns || postponed_has_key(to->key))
		return postponed_add_recv(to->queue, to->key, wr, ns, to->behind);
	return to->behind(to->queue, wr, &bad);
}

static int post_failing_recv(const struct receives *to, const struct ibv_recv_wr *wr,
			     const struct fault *fault)
{
	struct ibv_sge sge = forbidden_sge(wr->sg_list, wr->num_sge);
	struct ibv_recv_wr copy = { wr->wr_id, NULL, &sge, 1 };
	int ret;

	if (forced_status_add(to->queue, to->qpn, wr->wr_id, fault))
		return ENOMEM;
	ret = submit_recv(to, &copy, 0);
	if (ret)
		forced_status_take_back(to->queue, wr->wr_id);
	return ret;
}

static int post_one_recv(const struct receives *to, const struct ibv_recv_wr *wr,
			 const struct planned_fault *planned)
{
	struct ibv_recv_wr copy = *wr;
	uint64_t ns = 0;

	if (planned->fault.kind == FAULT_ERRNO)
		return posts_refuse(planned, to->qpn);
	if (planned->fault.kind == FAULT_STATUS) {
		posts_note_status(planned, to->qpn);
		return post_failing_recv(to, wr, &planned->fault);
	}
	if (planned->fault.kind == FAULT_EVENT)
		async_inject(planned, to->qpn ? to->queue : NULL, to->qpn ? NULL : to->queue);
	if (planned->fault.kind == FAULT_DELAY) {
		posts_note_delay(planned, to->qpn);
		ns = planned->fault.ns;
	}
	return submit_recv(to, &copy, ns);
}

/*
 * The number of requests from @wr on that have no fault. *@planned: the fault of the next request,
 * if there is one.
 */
#define COUNT_PLAIN(name, wr_t, opcode)                                                           \
	static unsigned int name(const struct wr_t *wr, uint32_t qpn,                             \
				 struct planned_fault *planned)                                   \
	{                                                                                         \
		unsigned int n = 0;                                                               \
                                                                                                  \
		for (planned->fault.kind = FAULT_NONE; wr; wr = wr->next, n++) {                  \
			*planned =                                                                \
				plan_request(qpn, opcode, posts_bytes(wr->sg_list, wr->num_sge)); \
			if (planned->fault.kind)                                                  \
				break;                                                            \
		}                                                                                 \
		return n;                                                                         \
	}

COUNT_PLAIN(count_plain_sends, ibv_send_wr, (int)wr->opcode)
COUNT_PLAIN(count_plain_recvs, ibv_recv_wr, FAULT_OPCODE_RECV)

static int faulty_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	post_send_fn *behind = original_of_context(qp->context)->ops.post_send;
	const struct planned_fault none = { 0 };
	int ret = enter_call(VERB_post_send);
	struct planned_fault planned;
	unsigned int plain;

	*bad = wr;
	if (ret)
		return ret;
	plain = count_plain_sends(wr, qp->qp_num, &planned);
	if (!planned.fault.kind && !postponed_has_key(qp))
		return behind(qp, wr, bad);
	for (; wr; wr = wr->next) {
		ret = post_one_send(qp, wr, plain ? &none : &planned, behind);
		if (ret) {
			*bad = wr;
			return ret;
		}
		if (plain)
			plain--;
		else
			plain = count_plain_sends(wr->next, qp->qp_num, &planned);
	}
	return 0;
}

static int post_recvs(enum verb verb, const struct receives *to, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad)
{
	const struct planned_fault none = { 0 };
	int ret = enter_call(verb);
	struct planned_fault planned;
	unsigned int plain;

	*bad = wr;
	if (ret)
		return ret;
	plain = count_plain_recvs(wr, to->qpn, &planned);
	if (!planned.fault.kind && !postponed_has_key(to->key))
		return to->behind(to->queue, wr, bad);
	for (; wr; wr = wr->next) {
		ret = post_one_recv(to, wr, plain ? &none : &planned);
		if (ret) {
			*bad = wr;
			return ret;
		}
		if (plain)
			plain--;
		else
			plain = count_plain_recvs(wr->next, to->qpn, &planned);
	}
	return 0;
}

static int faulty_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const struct receives to = {
		qp, postponed_recvs_of(qp), qp->qp_num,
		(post_recv_fn *)original_of_context(qp->context)->ops.post_recv
	};

	return post_recvs(VERB_post_recv, &to, wr, bad);
}

static int faulty_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad)
{
	const struct receives to = {
		srq, srq, 0, (post_recv_fn *)original_of_context(srq->context)->ops.post_srq_recv
	};

	return post_recvs(VERB_post_srq_recv, &to, wr, bad);
}

#define PATCH(slot)                                    \
	if (ops->slot && ops->slot != faulty_##slot) { \
		behind->slot = ops->slot;              \
		ops->slot = faulty_##slot;             \
	}

void posts_patch(struct ibv_context_ops *ops, struct ibv_context_ops *behind)
{
	PATCH(post_send)
	PATCH(post_recv)
	PATCH(post_srq_recv)
}
