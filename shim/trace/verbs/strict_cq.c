/*
 * Checking the iterator of an extended CQ
 *
 *	start_poll -> a batch is open -> next_poll ... -> end_poll -> none is
 *
 * Each of the three, and each function that reads a field, is replaced. The replacements know which
 * thread has the batch open. Their reports are correct regardless of the provider's locks: a batch
 * is marked as open while the provider's lock is held, and as closed before the lock is released.
 * After a thread has ended a batch of another thread, nothing is reported until the next start.
 *
 * The recorder's own reads of fields, inside start_poll and next_poll, are not checked.
 */
#include "shim/trace/verbs/strict_cq.h"

#include "shim/trace/objects/strict.h"

static __thread unsigned int inside __attribute__((tls_model("initial-exec")));

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);

static uint64_t get_batch(const struct strict_object *o)
{
	return atomic_load_explicit(&o->batch, memory_order_relaxed);
}

static void set_batch(struct strict_object *o, uint64_t who)
{
	atomic_store_explicit(&o->batch, who, memory_order_relaxed);
}

/* Is each start of a batch noticed? Not if a provider has restored its own functions. */
static bool is_start_ours(const struct ibv_cq_ex *cq)
{
	return cq->start_poll == start_poll;
}

static void report_cq_misuse(enum event_misuse_what what, const struct ibv_cq_ex *cq,
			     enum verb verb, uint64_t other)
{
	strict_report(&(struct misuse){ .what = what, .object = cq, .verb = verb, .other = other });
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct strict_object *o = strict_find(cq);
	uint64_t me = strict_own_thread();
	struct strict_use use;
	int ret;

	if (me && get_batch(o) == me)
		report_cq_misuse(MISUSE_START_INSIDE, cq, VERB_start_poll, 0);
	strict_enter(&use, cq, VERB_start_poll, STRICT_SEND);
	inside++;
	ret = o->was.start_poll(cq, attr);
	inside--;
	if (!ret)
		set_batch(o, me ? me : STRICT_SOMEBODY);
	strict_leave(&use);
	return ret;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	struct strict_object *o = strict_find(cq);
	struct strict_use use;
	int ret;

	if (!get_batch(o) && is_start_ours(cq))
		report_cq_misuse(MISUSE_NEXT_OUTSIDE, cq, VERB_next_poll, 0);
	strict_enter(&use, cq, VERB_next_poll, STRICT_SEND);
	inside++;
	ret = o->was.next_poll(cq);
	inside--;
	strict_leave(&use);
	return ret;
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct strict_object *o = strict_find(cq);
	uint64_t who = get_batch(o);

	if (!who && is_start_ours(cq))
		report_cq_misuse(MISUSE_END_OUTSIDE, cq, VERB_end_poll, 0);
	if (who)
		set_batch(o, who == STRICT_SOMEBODY || who == strict_own_thread()
				     ? 0
				     : STRICT_SOMEBODY);
	o->was.end_poll(cq);
}

/* Check the reading of a field. @asked: bit of wc_flags that requests it; 0: it always exists. */
static void check_read(const struct ibv_cq_ex *cq, const struct strict_object *o,
		       enum event_cq_field field, uint64_t asked)
{
	struct misuse m = {
		.object = cq, .verb = VERB_COUNT, .field = field, .status = cq->status
	};
	bool valid = cq->status == IBV_WC_SUCCESS || field == CQ_FIELD_vendor_err ||
		     field == CQ_FIELD_qp_num;

	if (inside || !is_start_ours(cq))
		return;
	if (!get_batch(o))
		m.what = MISUSE_READ_OUTSIDE;
	else if (!valid)
		m.what = MISUSE_ERROR_FIELD;
	else if (asked && !(o->wc_flags & asked))
		m.what = MISUSE_UNASKED_FIELD;
	else
		return;
	strict_report(&m);
}

/* clang-format off */
#define EACH_READER(_)                                                                     \
	_(opcode, enum ibv_wc_opcode, 0)                                                   \
	_(vendor_err, uint32_t, 0)                                                         \
	_(byte_len, uint32_t, IBV_WC_EX_WITH_BYTE_LEN)                                     \
	_(imm_data, __be32, IBV_WC_EX_WITH_IMM)                                            \
	_(qp_num, uint32_t, IBV_WC_EX_WITH_QP_NUM)                                         \
	_(src_qp, uint32_t, IBV_WC_EX_WITH_SRC_QP)                                         \
	_(wc_flags, unsigned int, 0)                                                       \
	_(slid, uint32_t, IBV_WC_EX_WITH_SLID)                                             \
	_(sl, uint8_t, IBV_WC_EX_WITH_SL)                                                  \
	_(dlid_path_bits, uint8_t, IBV_WC_EX_WITH_DLID_PATH_BITS)                          \
	_(completion_ts, uint64_t, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)                    \
	_(cvlan, uint16_t, IBV_WC_EX_WITH_CVLAN)                                           \
	_(flow_tag, uint32_t, IBV_WC_EX_WITH_FLOW_TAG)                                     \
	_(completion_wallclock_ns, uint64_t, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
/* clang-format on */

#define READER(name, type, asked)                          \
	static type read_##name(struct ibv_cq_ex *cq)      \
	{                                                  \
		struct strict_object *o = strict_find(cq); \
                                                           \
		check_read(cq, o, CQ_FIELD_##name, asked); \
		return o->was.read_##name(cq);             \
	}

EACH_READER(READER)

static void read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info)
{
	struct strict_object *o = strict_find(cq);

	check_read(cq, o, CQ_FIELD_tm_info, IBV_WC_EX_WITH_TM_INFO);
	o->was.read_tm_info(cq, info);
}

/* A NULL pointer remains NULL: the program may test whether a function exists. */
#define PATCH(name, ...)                              \
	if (cq->read_##name) {                        \
		o->was.read_##name = cq->read_##name; \
		cq->read_##name = read_##name;        \
	}

void strict_cq_patch(struct ibv_cq_ex *cq, uint64_t wc_flags)
{
	struct strict_object *o = strict_find(cq);

	if (!o || is_start_ours(cq) || !cq->start_poll || !cq->next_poll || !cq->end_poll)
		return;
	o->wc_flags = wc_flags;
	o->was.start_poll = cq->start_poll;
	o->was.next_poll = cq->next_poll;
	o->was.end_poll = cq->end_poll;
	EACH_READER(PATCH)
	PATCH(tm_info)
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
}

/*
 * Overwrite all fields that are not valid in an error: ibv_poll_cq(3) says that only wr_id, status,
 * qp_num and vendor_err are.
 */
static void overwrite_invalid_fields(struct ibv_wc *wc)
{
	wc->opcode = 0x5a;
	wc->byte_len = 0xdeadbeef;
	wc->imm_data = 0xdeadbeef;
	wc->src_qp = 0xadbeef;
	wc->wc_flags = 0x5a;
	wc->pkey_index = 0xdead;
	wc->slid = 0xdead;
	wc->sl = 0x5a;
	wc->dlid_path_bits = 0x5a;
}

void strict_cq_overwrite_invalid(struct ibv_wc *wc, int n)
{
	for (int i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			overwrite_invalid_fields(wc + i);
}
