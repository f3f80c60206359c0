/*
 * Polls that replace the status of completions of requests that a fault made fail, and that delay
 * completions
 *
 * If completions can be late, all completions of a CQ come from a store (backlog.h), also for an
 * iterator: then all fields of a completion are read when it is polled from the device.
 */
#include "shim/trace/faults/polls.h"

#include <errno.h>

#include "shim/trace/faults/backlog.h"
#include "shim/trace/faults/backlog_channel.h"
#include "shim/trace/faults/original.h"
#include "shim/trace/faults/forced_status.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/ring/recording.h"

/* clang-format off */
/* name, type, where a stored completion has the field */
#define READS(_)                                                     \
	_(opcode, enum ibv_wc_opcode, item->wc.opcode)               \
	_(vendor_err, uint32_t, item->wc.vendor_err)                 \
	_(byte_len, uint32_t, item->wc.byte_len)                     \
	_(imm_data, __be32, item->wc.imm_data)                       \
	_(qp_num, uint32_t, item->wc.qp_num)                         \
	_(src_qp, uint32_t, item->wc.src_qp)                         \
	_(wc_flags, unsigned int, item->wc.wc_flags)                 \
	_(slid, uint32_t, item->wc.slid)                             \
	_(sl, uint8_t, item->wc.sl)                                  \
	_(dlid_path_bits, uint8_t, item->wc.dlid_path_bits)          \
	_(completion_ts, uint64_t, item->extra.timestamp)            \
	_(cvlan, uint16_t, item->extra.cvlan)                        \
	_(flow_tag, uint32_t, item->extra.flow_tag)                  \
	_(completion_wallclock_ns, uint64_t, item->extra.wallclock)
/* clang-format on */

#define EXTRAS                                                                                 \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | \
	 IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO)

struct faulty_cq {
	struct known known;
	bool held;               /* its completions pass through the store `backlog` */
	bool extended;           /* it has fields that ibv_poll_cq() does not return */
	struct ibv_cq_ex behind; /* only its function pointers are set */
	uint64_t wc_flags;       /* flags with which it was created */
	bool settled;            /* the current completion has the vendor error below */
	uint32_t vendor_err;
	struct backlog backlog;
	struct backlog_item current;
};

static struct faulty_cq *find_cq(const void *cq)
{
	return known_find(cq, KNOWN_FAULTY_CQ);
}

static struct faulty_cq *add_cq(const void *cq)
{
	struct faulty_cq *f;

	recording_lock();
	f = original_add_object(cq, KNOWN_FAULTY_CQ, sizeof(*f));
	recording_unlock();
	return f;
}

static void replace_statuses(struct ibv_wc *wc, int n)
{
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			forced_status_apply(wc[i].qp_num, wc[i].wr_id, &wc[i].status,
					    &wc[i].vendor_err);
}

/* Take all completions from the device. */
static int drain_cq(struct backlog *backlog)
{
	struct ibv_cq *cq = backlog->cq;
	int (*poll)(struct ibv_cq *, int, struct ibv_wc *) =
		original_of_context(cq->context)->ops.poll_cq;
	struct ibv_wc wc[16];
	int got;

	while ((got = poll(cq, 16, wc)) > 0) {
		if (forced_status_has_any())
			replace_statuses(wc, got);
		for (int i = 0; i < got; i++)
			backlog_add(backlog, &wc[i], NULL);
	}
	return got;
}

static int poll_held(struct backlog *backlog, int n, struct ibv_wc *wc)
{
	struct backlog_item item;
	int got = 0, ret = 0;

	backlog_lock(backlog);
	while (got < n && (ret = backlog_take(backlog, &item)) > 0)
		wc[got++] = item.wc;
	backlog_unlock(backlog);
	return got ? got : ret;
}

static int faulty_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int error = enter_call(VERB_poll_cq), got;
	struct faulty_cq *f = find_cq(cq);

	if (error)
		return (int)enter_fail(VERB_poll_cq, error);
	if (f && f->held)
		return poll_held(&f->backlog, n, wc);
	got = original_of_context(cq->context)->ops.poll_cq(cq, n, wc);
	if (got > 0 && forced_status_has_any())
		replace_statuses(wc, got);
	return got;
}

static int faulty_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int error = enter_call(VERB_req_notify_cq);
	struct faulty_cq *f = find_cq(cq);

	if (error)
		return error;
	if (f && f->held) {
		backlog_lock(&f->backlog);
		backlog_arm(&f->backlog, solicited_only);
		backlog_unlock(&f->backlog);
	}
	return original_of_context(cq->context)->ops.req_notify_cq(cq, solicited_only);
}

static void replace_status(struct faulty_cq *f, struct ibv_cq_ex *cq)
{
	f->settled = false;
	if (cq->status != IBV_WC_SUCCESS && forced_status_has_any())
		f->settled =
			forced_status_apply(f->behind.read_qp_num ? f->behind.read_qp_num(cq) : 0,
					    cq->wr_id, &cq->status, &f->vendor_err);
}

#define READ(name) (f->behind.read_##name ? f->behind.read_##name(cq) : 0)

/* Read the fields that are valid only in a completion without an error. */
static void read_valid(const struct faulty_cq *f, struct ibv_cq_ex *cq, struct ibv_wc *wc,
		       struct backlog_extra *extra)
{
	wc->opcode = READ(opcode);
	wc->byte_len = READ(byte_len);
	wc->imm_data = READ(imm_data);
	wc->src_qp = READ(src_qp);
	wc->wc_flags = READ(wc_flags);
	wc->slid = (uint16_t)READ(slid);
	wc->sl = READ(sl);
	wc->dlid_path_bits = READ(dlid_path_bits);
	if (f->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		extra->timestamp = READ(completion_ts);
	if (f->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		extra->wallclock = READ(completion_wallclock_ns);
	if (f->wc_flags & IBV_WC_EX_WITH_CVLAN)
		extra->cvlan = READ(cvlan);
	if (f->wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		extra->flow_tag = READ(flow_tag);
	if (f->wc_flags & IBV_WC_EX_WITH_TM_INFO && f->behind.read_tm_info)
		f->behind.read_tm_info(cq, &extra->tm);
}

static void store_current(struct faulty_cq *f, struct ibv_cq_ex *cq)
{
	struct ibv_wc wc = { .wr_id = cq->wr_id };
	struct backlog_extra extra = { 0 };

	replace_status(f, cq);
	wc.status = cq->status;
	wc.qp_num = READ(qp_num);
	if (wc.status)
		wc.vendor_err = f->settled ? f->vendor_err : READ(vendor_err);
	else
		read_valid(f, cq, &wc, &extra);
	backlog_add(&f->backlog, &wc, &extra);
}

/*
 * Take all completions of an extended CQ. Its iterator has only the fields that were requested, and
 * some programs (UCX) call ibv_poll_cq() for such a CQ: so the iterator is used only if fields were
 * requested that ibv_poll_cq() does not return.
 */
static int drain_ex(struct backlog *backlog)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)backlog->cq;
	struct faulty_cq *f = find_cq(cq);
	struct ibv_poll_cq_attr attr = { 0 };
	int ret = f->behind.start_poll(cq, &attr);

	if (ret)
		return ret == ENOENT ? 0 : -ret;
	for (; !ret; ret = f->behind.next_poll(cq))
		store_current(f, cq);
	f->behind.end_poll(cq);
	return ret == ENOENT ? 0 : -ret;
}

/* Take the next completion from the store, and make it the current one. */
static int set_next_current(struct faulty_cq *f, struct ibv_cq_ex *cq)
{
	int got = backlog_take(&f->backlog, &f->current);

	if (got <= 0)
		return got ? -got : ENOENT;
	cq->wr_id = f->current.wc.wr_id;
	cq->status = f->current.wc.status;
	return 0;
}

/* Begin a poll. The store stays locked until ibv_end_poll(), like a CQ of a provider. */
static int start_stored_poll(struct faulty_cq *f, struct ibv_cq_ex *cq)
{
	int ret;

	backlog_lock(&f->backlog);
	ret = set_next_current(f, cq);
	if (ret)
		backlog_unlock(&f->backlog);
	return ret;
}

static int faulty_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct faulty_cq *f = find_cq(cq);
	int ret = enter_call(VERB_start_poll);

	if (ret)
		return ret;
	if (f->held)
		return start_stored_poll(f, cq);
	ret = f->behind.start_poll(cq, attr);
	if (!ret)
		replace_status(f, cq);
	return ret;
}

static int faulty_next_poll(struct ibv_cq_ex *cq)
{
	struct faulty_cq *f = find_cq(cq);
	int ret;

	if (f->held)
		return set_next_current(f, cq);
	ret = f->behind.next_poll(cq);
	if (!ret)
		replace_status(f, cq);
	return ret;
}

static void faulty_end_poll(struct ibv_cq_ex *cq)
{
	struct faulty_cq *f = find_cq(cq);

	if (f->held)
		backlog_unlock(&f->backlog);
	else
		f->behind.end_poll(cq);
}

#define READER(name, type, value)                              \
	static type faulty_read_##name(struct ibv_cq_ex *cq)   \
	{                                                      \
		struct faulty_cq *f = find_cq(cq);             \
		const struct backlog_item *item = &f->current; \
                                                               \
		if (!f->held)                                  \
			return f->behind.read_##name(cq);      \
		return value;                                  \
	}
READS(READER)
#undef READER

/* The vendor error of the current completion: the fault's, if a fault has replaced the status. */
static uint32_t read_current_vendor_err(struct ibv_cq_ex *cq)
{
	struct faulty_cq *f = find_cq(cq);

	return !f->held && f->settled ? f->vendor_err : faulty_read_vendor_err(cq);
}

static void faulty_read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info)
{
	struct faulty_cq *f = find_cq(cq);

	if (f->held)
		*info = f->current.extra.tm;
	else
		f->behind.read_tm_info(cq, info);
}

static void patch_readers(struct ibv_cq_ex *cq)
{
#define READER(name, type, value) \
	if (cq->read_##name)      \
		cq->read_##name = faulty_read_##name;
	READS(READER)
#undef READER
	if (cq->read_tm_info)
		cq->read_tm_info = faulty_read_tm_info;
	if (cq->read_vendor_err)
		cq->read_vendor_err = read_current_vendor_err;
}

void polls_patch_ex(struct ibv_cq_ex *cq, uint64_t wc_flags)
{
	struct faulty_cq *f;

	if (!cq->start_poll || !cq->next_poll || cq->start_poll == faulty_start_poll)
		return;
	f = add_cq(cq);
	if (!f)
		return;
	f->held = f->settled = false;
	f->behind = *cq;
	f->wc_flags = wc_flags;
	cq->start_poll = faulty_start_poll;
	cq->next_poll = faulty_next_poll;
	cq->end_poll = faulty_end_poll;
	patch_readers(cq);
	polls_hold((struct ibv_cq *)cq, wc_flags & EXTRAS);
}

void polls_hold(struct ibv_cq *cq, bool extended)
{
	struct faulty_cq *f = backlog_is_on() ? add_cq(cq) : find_cq(cq);

	if (!f)
		return;
	f->extended = extended;
	f->held = false;
	if (!backlog_is_on())
		return;
	backlog_init(&f->backlog, cq, extended ? drain_ex : drain_cq);
	backlog_channel_add_cq(&f->backlog);
	f->held = true;
}

bool polls_release(struct ibv_cq *cq)
{
	struct faulty_cq *f = find_cq(cq);

	if (!f || !f->held)
		return false;
	backlog_channel_remove_cq(&f->backlog);
	backlog_fini(&f->backlog);
	f->held = false;
	return true;
}

void polls_hold_again(struct ibv_cq *cq)
{
	struct faulty_cq *f = find_cq(cq);

	polls_hold(cq, f->extended);
}

void polls_purge(struct ibv_cq *cq, uint32_t qpn)
{
	struct faulty_cq *f = cq ? find_cq(cq) : NULL;

	if (!f || !f->held)
		return;
	backlog_lock(&f->backlog);
	backlog_purge(&f->backlog, qpn);
	backlog_unlock(&f->backlog);
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
