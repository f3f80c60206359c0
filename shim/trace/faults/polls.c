/*
 * Polls, in which completions of requests that were made to fail get their status
 */
#include "shim/trace/faults/polls.h"

#include "shim/trace/faults/behind.h"
#include "shim/trace/faults/doomed.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/ring/recording.h"

struct faulty_cq {
	struct known known;
	int (*start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cq);
	uint32_t (*read_vendor_err)(struct ibv_cq_ex *cq);
	bool settled; /* the current completion has this vendor's error: */
	uint32_t vendor_err;
};

static void settle_completions(struct ibv_wc *wc, int n)
{
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			doomed_settle(wc[i].qp_num, wc[i].wr_id, &wc[i].status, &wc[i].vendor_err);
}

static int faulty_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int error = enter_call(VERB_poll_cq), got;

	if (error)
		return (int)enter_fail(VERB_poll_cq, error);
	got = behind_context(cq->context)->ops.poll_cq(cq, n, wc);
	if (got > 0 && doomed_any())
		settle_completions(wc, got);
	return got;
}

static int faulty_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int error = enter_call(VERB_req_notify_cq);

	if (error)
		return error;
	return behind_context(cq->context)->ops.req_notify_cq(cq, solicited_only);
}

static struct faulty_cq *find_cq(const void *cq)
{
	return known_find(cq, KNOWN_FAULTY_CQ);
}

static void settle_current(struct faulty_cq *f, struct ibv_cq_ex *cq)
{
	f->settled = false;
	if (cq->status != IBV_WC_SUCCESS && doomed_any())
		f->settled = doomed_settle(cq->read_qp_num ? cq->read_qp_num(cq) : 0, cq->wr_id,
					   &cq->status, &f->vendor_err);
}

static int faulty_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct faulty_cq *f = find_cq(cq);
	int ret = enter_call(VERB_start_poll);

	if (!ret)
		ret = f->start_poll(cq, attr);
	if (!ret)
		settle_current(f, cq);
	return ret;
}

static int faulty_next_poll(struct ibv_cq_ex *cq)
{
	struct faulty_cq *f = find_cq(cq);
	int ret = f->next_poll(cq);

	if (!ret)
		settle_current(f, cq);
	return ret;
}

static uint32_t faulty_read_vendor_err(struct ibv_cq_ex *cq)
{
	struct faulty_cq *f = find_cq(cq);

	return f->settled ? f->vendor_err : f->read_vendor_err(cq);
}

static void patch_iterator(struct faulty_cq *f, struct ibv_cq_ex *cq)
{
	f->settled = false;
	f->start_poll = cq->start_poll;
	f->next_poll = cq->next_poll;
	f->read_vendor_err = cq->read_vendor_err;
	cq->start_poll = faulty_start_poll;
	cq->next_poll = faulty_next_poll;
	if (cq->read_vendor_err)
		cq->read_vendor_err = faulty_read_vendor_err;
}

void polls_patch_ex(struct ibv_cq_ex *cq)
{
	struct faulty_cq *f;

	if (!cq->start_poll || !cq->next_poll || cq->start_poll == faulty_start_poll)
		return;
	recording_lock();
	f = behind_add_object(cq, KNOWN_FAULTY_CQ, sizeof(*f));
	if (f)
		patch_iterator(f, cq);
	recording_unlock();
}

#define PATCH(slot)                                    \
	if (ops->slot && ops->slot != faulty_##slot) { \
		behind->slot = ops->slot;              \
		ops->slot = faulty_##slot;             \
	}

void polls_patch(struct ibv_context_ops *ops, struct ibv_context_ops *behind)
{
	PATCH(poll_cq)
	PATCH(req_notify_cq)
}
