/*
 * Completions polled with the iterator of an extended CQ
 *
 * Each completion that the iterator reaches is written as a poll that returned one: status and
 * wr_id are fields of the CQ, the rest is read with the provider's own read_* functions, if the
 * program requested them when it created the CQ (else the pointer is NULL) and if they are valid
 * (after an error: vendor_err and qp_num).
 *
 * Providers have a dozen iterators (with and without locks, for each format of a completion);
 * combined with the requested fields beyond struct ibv_wc, MORE_SLOTS of them can be distinguished
 * (slots.h).
 */
#include "shim/trace/verbs/poll_ex.h"

#include <errno.h>

#include "shim/trace/objects/pollers.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/verbs/poll.h"
#include "shim/trace/verbs/slots.h"

typedef int start_poll_fn(struct ibv_cq_ex *, struct ibv_poll_cq_attr *);
typedef int next_poll_fn(struct ibv_cq_ex *);

static struct slot {
	start_poll_fn *start;
	next_poll_fn *next;
	uint64_t extras; /* enum event_wc_part; no padding in a key */
} slots[MORE_SLOTS];

_Static_assert(sizeof(struct slot) <= SLOT_BYTES_MAX, "a key");

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

static void read_extras(struct ibv_cq_ex *cq, unsigned int extras, struct event_wc_extra *extra)
{
	struct ibv_wc_tm_info tm = { 0 };

	*extra = (struct event_wc_extra){ .parts = (uint16_t)extras };
	if (extras & WC_TIMESTAMP)
		extra->timestamp = cq->read_completion_ts(cq);
	if (extras & WC_WALLCLOCK)
		extra->wallclock = cq->read_completion_wallclock_ns(cq);
	if (extras & WC_CVLAN)
		extra->cvlan = cq->read_cvlan(cq);
	if (extras & WC_FLOW_TAG)
		extra->flow_tag = cq->read_flow_tag(cq);
	if (extras & WC_TM) {
		cq->read_tm_info(cq, &tm);
		extra->tm_tag = tm.tag;
		extra->tm_priv = tm.priv;
	}
}

static void record_one(struct ibv_cq_ex *cq, uint8_t flags, unsigned int extras)
{
	struct ibv_wc wc = { .wr_id = cq->wr_id, .status = cq->status };
	struct event_wc_extra extra;
	int saved = errno;

	wc.qp_num = READ(qp_num);
	if (payload_on)
		payload_unsaid((cq->read_byte_len ? 0 : PAYLOAD_NO_LENGTH) |
			       (cq->read_qp_num ? 0 : PAYLOAD_NO_QP_NUM));
	if (wc.status != IBV_WC_SUCCESS) {
		wc.vendor_err = READ(vendor_err);
		extras = 0;
	} else {
		read_valid(cq, &wc);
	}
	if (extras)
		read_extras(cq, extras, &extra);
	if (__builtin_expect(wc.status != IBV_WC_SUCCESS, 0) && poll_takes_stack(wc.status))
		poll_write_error(ibv_cq_ex_to_cq(cq), flags, 1, &wc);
	else
		poll_write_one(ibv_cq_ex_to_cq(cq), flags, &wc, extras ? &extra : NULL);
	errno = saved;
}

static void record_start_poll(struct ibv_cq_ex *cq, int ret, unsigned int extras)
{
	if (!record_ready())
		return;
	if (!ret)
		record_one(cq, EVENT_START, extras);
	else if (ret == ENOENT)
		poll_count(cq);
	else
		poll_write_error(ibv_cq_ex_to_cq(cq), EVENT_START, -ret, NULL);
}

/* The end of a batch is not an empty poll. */
static void record_next(struct ibv_cq_ex *cq, int ret, unsigned int extras)
{
	if (ret == ENOENT || !record_ready())
		return;
	if (!ret)
		record_one(cq, EVENT_NEXT, extras);
	else
		poll_write_error(ibv_cq_ex_to_cq(cq), EVENT_NEXT, -ret, NULL);
}

#define FUNCTIONS(i)                                                                   \
	static int start_poll_##i(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr) \
	{                                                                              \
		int ret;                                                               \
                                                                                       \
		if (__builtin_expect(payload_on, 0))                                   \
			pollers_note(ibv_cq_ex_to_cq(cq));                             \
		ret = slots[i].start(cq, attr);                                        \
		record_start_poll(cq, ret, (unsigned int)slots[i].extras);             \
		return ret;                                                            \
	}                                                                              \
	static int next_poll_##i(struct ibv_cq_ex *cq)                                 \
	{                                                                              \
		int ret = slots[i].next(cq);                                           \
		record_next(cq, ret, (unsigned int)slots[i].extras);                   \
		return ret;                                                            \
	}

EACH_MORE_SLOT(FUNCTIONS)

#define START(i) start_poll_##i,
#define NEXT(i)  next_poll_##i,
static void *const our_start[MORE_SLOTS] = { EACH_MORE_SLOT(START) };
static void *const our_next[MORE_SLOTS] = { EACH_MORE_SLOT(NEXT) };

/* Fields that the program requested, and that the provider has a function for. */
static unsigned int find_extras(const struct ibv_cq_ex *cq, uint64_t wc_flags)
{
	unsigned int extras = 0;

	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP && cq->read_completion_ts)
		extras |= WC_TIMESTAMP;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK &&
	    cq->read_completion_wallclock_ns)
		extras |= WC_WALLCLOCK;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN && cq->read_cvlan)
		extras |= WC_CVLAN;
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG && cq->read_flow_tag)
		extras |= WC_FLOW_TAG;
	if (wc_flags & IBV_WC_EX_WITH_TM_INFO && cq->read_tm_info)
		extras |= WC_TM;
	return extras;
}

static int patch_iterator(struct ibv_cq_ex *cq, unsigned int extras)
{
	const struct slot key = { cq->start_poll, cq->next_poll, extras };
	int i;

	if (!cq->start_poll || !cq->next_poll)
		return 0; /* no iterator */
	if (slots_has(our_start, MORE_SLOTS, (void *)cq->start_poll))
		return 0;
	i = slots_find(slots, MORE_SLOTS, &key, sizeof(key));
	if (i < 0)
		return i;
	if (!slots[i].start)
		slots[i] = key;
	cq->start_poll = (start_poll_fn *)our_start[i];
	cq->next_poll = (next_poll_fn *)our_next[i];
	return 0;
}

int poll_ex_patch(struct ibv_cq_ex *cq, uint64_t wc_flags)
{
	int err;

	recording_lock();
	err = patch_iterator(cq, find_extras(cq, wc_flags));
	recording_unlock();
	return err;
}
