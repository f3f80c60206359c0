/*
 * Completions taken with the iterator of an extended CQ
 *
 * Each completion that the iterator stands on is written as a poll that
 * returned one: status and wr_id lie in the CQ, the rest is read with the
 * provider's own read_* functions, as far as the program asked for them when
 * it made the CQ (a pointer that it did not ask for is NULL) and as far as
 * they are valid (after an error: vendor_err and qp_num).
 *
 * Providers have a dozen iterators (with and without locks, for each format
 * of a completion); SLOTS of them can be told apart.
 */
#include "shim/trace/poll_ex.h"

#include <errno.h>

#include "shim/trace/poll.h"

enum { SLOTS = 16 };

typedef int start_poll_fn(struct ibv_cq_ex *, struct ibv_poll_cq_attr *);
typedef int next_poll_fn(struct ibv_cq_ex *);

static start_poll_fn *start_originals[SLOTS];
static next_poll_fn *next_originals[SLOTS];

#define READ(field) (cq->read_##field ? cq->read_##field(cq) : 0)

static void read_valid(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	wc->opcode = READ(opcode);
	wc->byte_len = READ(byte_len);
	wc->imm_data = READ(imm_data);
	wc->src_qp = READ(src_qp);
	wc->wc_flags = READ(wc_flags);
	wc->slid = (uint16_t)READ(slid);
	wc->sl = READ(sl);
	wc->dlid_path_bits = READ(dlid_path_bits);
}

static void record(struct ibv_cq_ex *cq, int ret)
{
	struct ibv_wc wc = { .wr_id = cq->wr_id, .status = cq->status };
	int saved = errno;

	if (ret == ENOENT) {
		poll_record(ibv_cq_ex_to_cq(cq), 0, NULL);
		return;
	}
	if (ret) {
		poll_record(ibv_cq_ex_to_cq(cq), -ret, NULL);
		return;
	}
	if (!record_ready())
		return;
	wc.qp_num = READ(qp_num);
	if (wc.status == IBV_WC_SUCCESS)
		read_valid(cq, &wc);
	else
		wc.vendor_err = READ(vendor_err);
	poll_record(ibv_cq_ex_to_cq(cq), 1, &wc);
	errno = saved;
}

/* The end of a batch is not an empty poll. */
static void record_next(struct ibv_cq_ex *cq, int ret)
{
	if (ret != ENOENT)
		record(cq, ret);
}

#define EACH_SLOT(_) \
	_(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7) _(8) _(9) _(10) _(11) _(12) _(13) _(14) _(15)

#define FUNCTIONS(i)                                                                   \
	static int start_poll_##i(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr) \
	{                                                                              \
		int ret = start_originals[i](cq, attr);                                \
		record(cq, ret);                                                       \
		return ret;                                                            \
	}                                                                              \
	static int next_poll_##i(struct ibv_cq_ex *cq)                                 \
	{                                                                              \
		int ret = next_originals[i](cq);                                       \
		record_next(cq, ret);                                                  \
		return ret;                                                            \
	}

EACH_SLOT(FUNCTIONS)

#define START(i) start_poll_##i,
#define NEXT(i) next_poll_##i,
static start_poll_fn *const our_start[SLOTS] = { EACH_SLOT(START) };
static next_poll_fn *const our_next[SLOTS] = { EACH_SLOT(NEXT) };

static int patch(struct ibv_cq_ex *cq)
{
	if (!cq->start_poll || !cq->next_poll)
		return 0; /* no iterator */
	for (int i = 0; i < SLOTS; i++)
		if (cq->start_poll == our_start[i])
			return 0;
	for (int i = 0; i < SLOTS; i++) {
		if (start_originals[i] && (start_originals[i] != cq->start_poll ||
					   next_originals[i] != cq->next_poll))
			continue;
		start_originals[i] = cq->start_poll;
		next_originals[i] = cq->next_poll;
		cq->start_poll = our_start[i];
		cq->next_poll = our_next[i];
		return 0;
	}
	return -ENOSPC;
}

int poll_ex_patch(struct ibv_cq_ex *cq)
{
	int err;

	record_lock();
	err = patch(cq);
	record_unlock();
	return err;
}
