/*
 * Completions polled with the iterator of an extended CQ
 *
 * Each completion that the iterator reaches is written as a poll that returned one: status and
 * wr_id are fields of the CQ, the other fields are read by the provider's read_* functions, if the
 * program requested the field when it created the CQ (else the pointer is NULL), and if the field
 * is valid (after an error: vendor_err and qp_num).
 *
 * Providers have a dozen iterators (with and without locks, for each format of a completion);
 * combined with the requested fields beyond struct ibv_wc, MORE_SLOTS of them can be distinguished
 * (slots.h).
 *
 * For each thread it is known which batch is open, and which CQ was found empty. This is enough to
 * report a start inside a batch, a queue pair that is destroyed inside a batch, and a next or an
 * end after a start that found nothing. `record --strict` knows more (strict_cq.c), and reports
 * these misuses itself.
 */
#include "shim/trace/verbs/poll_ex.h"

#include <errno.h>
#include <stdatomic.h>

#include "shim/trace/base/defined.h"
#include "shim/trace/objects/pollers.h"
#include "shim/trace/objects/strict.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/verbs/poll.h"
#include "shim/trace/verbs/slots.h"

typedef int start_poll_fn(struct ibv_cq_ex *, struct ibv_poll_cq_attr *);
typedef int next_poll_fn(struct ibv_cq_ex *);
typedef void end_poll_fn(struct ibv_cq_ex *);

static struct slot {
	start_poll_fn *start;
	next_poll_fn *next;
	end_poll_fn *end;
	uint64_t extras; /* bits of enum event_wc_part; 64 bits, since a key must have no padding */
} slots[MORE_SLOTS];

_Static_assert(sizeof(struct slot) <= SLOT_BYTES_MAX, "a key");

/* The CQ of the open batch of the thread, and the CQ whose last start found nothing. */
static __thread struct {
	const struct ibv_cq_ex *open, *refused;
	unsigned int ends; /* value of foreign_ends when the batch was opened */
} batch __attribute__((tls_model("initial-exec")));

/*
 * Number of batches that were ended by threads that had not opened them: any open batch may be the
 * ended one.
 */
static atomic_uint foreign_ends;

static inline bool is_open(void)
{
	return batch.open &&
	       batch.ends == atomic_load_explicit(&foreign_ends, memory_order_relaxed);
}

static __attribute__((noinline)) void report_misuse(enum event_misuse_what what, const void *object,
						    const void *of, enum verb verb)
{
	if (!strict_is_on())
		strict_report(
			&(struct misuse){ .what = what, .object = object, .of = of, .verb = verb });
}

/* The thread has tried to open a batch of @cq. */
static inline void note_start(const struct ibv_cq_ex *cq, int ret)
{
	if (!ret) {
		batch.open = cq;
		batch.ends = atomic_load_explicit(&foreign_ends, memory_order_relaxed);
	}
	batch.refused = ret == ENOENT ? cq : NULL;
}

static inline void note_end(const struct ibv_cq_ex *cq)
{
	if (__builtin_expect(batch.refused == cq, 0))
		report_misuse(MISUSE_END_OUTSIDE, cq, NULL, VERB_end_poll);
	else if (__builtin_expect(batch.open != cq, 0))
		atomic_fetch_add_explicit(&foreign_ends, 1, memory_order_relaxed);
	if (batch.open == cq)
		batch.open = NULL;
}

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

static void record_completion(struct ibv_cq_ex *cq, uint8_t flags, unsigned int extras)
{
	struct event_wc_extra extra;
	struct ibv_wc wc;
	int saved = errno;

	defined_bytes(&cq->wr_id, sizeof(cq->wr_id));
	defined_bytes(&cq->status, sizeof(cq->status));
	wc = (struct ibv_wc){ .wr_id = cq->wr_id, .status = cq->status };
	wc.qp_num = READ(qp_num);
	if (payload_on)
		payload_set_missing((cq->read_byte_len ? 0 : PAYLOAD_NO_LENGTH) |
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
		record_completion(cq, EVENT_START, extras);
	else if (ret == ENOENT)
		poll_count(cq);
	else
		poll_write_error(ibv_cq_ex_to_cq(cq), EVENT_START, -ret, NULL);
}

/* Record a call of ibv_next_poll(), except at the end of a batch, which is not an empty poll. */
static void record_next(struct ibv_cq_ex *cq, int ret, unsigned int extras)
{
	if (ret == ENOENT || !record_ready())
		return;
	if (!ret)
		record_completion(cq, EVENT_NEXT, extras);
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
		if (__builtin_expect(batch.open == cq && is_open(), 0))                \
			report_misuse(MISUSE_START_INSIDE, cq, NULL, VERB_start_poll); \
		ret = slots[i].start(cq, attr);                                        \
		note_start(cq, ret);                                                   \
		record_start_poll(cq, ret, (unsigned int)slots[i].extras);             \
		return ret;                                                            \
	}                                                                              \
	static int next_poll_##i(struct ibv_cq_ex *cq)                                 \
	{                                                                              \
		int ret = slots[i].next(cq);                                           \
		/* the analyzer itself sees a call that finds a completion */          \
		if (__builtin_expect(ret && batch.refused == cq, 0))                   \
			report_misuse(MISUSE_NEXT_OUTSIDE, cq, NULL, VERB_next_poll);  \
		record_next(cq, ret, (unsigned int)slots[i].extras);                   \
		return ret;                                                            \
	}                                                                              \
	static void end_poll_##i(struct ibv_cq_ex *cq)                                 \
	{                                                                              \
		note_end(cq);                                                          \
		slots[i].end(cq);                                                      \
	}

EACH_MORE_SLOT(FUNCTIONS)

#define START(i) start_poll_##i,
#define NEXT(i)  next_poll_##i,
#define END(i)   end_poll_##i,
static void *const our_start[MORE_SLOTS] = { EACH_MORE_SLOT(START) };
static void *const our_next[MORE_SLOTS] = { EACH_MORE_SLOT(NEXT) };
static void *const our_end[MORE_SLOTS] = { EACH_MORE_SLOT(END) };

/* Fields that the program requested, and for which the provider has a function. */
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
	const struct slot key = { cq->start_poll, cq->next_poll, cq->end_poll, extras };
	int i;

	if (!cq->start_poll || !cq->next_poll)
		return 0; /* the CQ has no iterator */
	if (slots_has(our_start, MORE_SLOTS, (void *)cq->start_poll))
		return 0;
	i = slots_find(slots, MORE_SLOTS, &key, sizeof(key));
	if (i < 0)
		return i;
	if (!slots[i].start)
		slots[i] = key;
	undo_note((void **)&cq->start_poll);
	undo_note((void **)&cq->next_poll);
	undo_note((void **)&cq->end_poll);
	cq->start_poll = (start_poll_fn *)our_start[i];
	cq->next_poll = (next_poll_fn *)our_next[i];
	if (cq->end_poll)
		cq->end_poll = (end_poll_fn *)our_end[i];
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

void poll_ex_note_destroy(enum verb verb, const void *object)
{
	const struct ibv_qp *qp = object;
	const void *cq = batch.open; /* an extended CQ has the address of its plain one */

	if (verb == VERB_destroy_cq) { /* another CQ may get its address */
		if (object == cq)
			batch.open = NULL;
		if (object == batch.refused)
			batch.refused = NULL;
	}
	if (verb == VERB_destroy_qp && qp && is_open() && (qp->send_cq == cq || qp->recv_cq == cq))
		report_misuse(MISUSE_DESTROY_INSIDE, qp, cq, verb);
}
