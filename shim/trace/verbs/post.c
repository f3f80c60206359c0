/*
 * A post in the ring
 *
 *	EVENT_POST, object, verb, count, result | wr, parts, sges | wr, ...
 *
 * A work request takes 16 bytes, each SGE 16, and fields that only some operations have (remote
 * address, atomic operands, ...) are separate parts: a SEND of one SGE is one event of 64 bytes. A
 * list longer than PART_BYTES continues in further events. All events but the last are published
 * before the verb is called. This does no harm: readers ignore them if the last one is missing.
 */
#include "shim/trace/verbs/post.h"

#include "shim/trace/objects/strict.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/builder.h"
#include "shim/trace/stack/site.h"
#include "shim/trace/verbs/filter.h"
#include "shim/trace/verbs/stop.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum {
	REPORTED_LATE = 2, /* batches */
	WR_BYTES = 1024,   /* upper bound for one work request */
	PART_BYTES = 16 << 10,
	SGES = EVENT_POST_SGES,
	LIST_MAX = EVENT_POST_WRS,
};

#define PART(NAME, part) +sizeof(struct event_##part)
_Static_assert(sizeof(struct event_wr) EACH_PART(PART) + SGES * sizeof(struct event_sge) <=
		       WR_BYTES,
	       "WR_BYTES");
#undef PART
_Static_assert(sizeof(struct event_sge) == sizeof(struct ibv_sge), "copied as they are");

/* Each post uses these functions: not inline, they would make it a tenth slower. */
#define INLINE static inline __attribute__((always_inline))

INLINE struct event_post *start_post(uint16_t verb, const void *object, uint16_t site)
{
	struct event_post *event = record_reserve(sizeof(*event) + WR_BYTES + PART_BYTES);

	if (!event)
		return NULL;
	record_head(&event->head, EVENT_POST, record_ticks());
	event->object = (uint64_t)(uintptr_t)object;
	event->verb = verb & 0x1ff;
	event->bad = 0;
	event->ret = 0;
	event->site = site;
	return event;
}

static size_t bytes_of(const struct event_post *event, const void *end)
{
	return (size_t)((const char *)end - (const char *)event);
}

static inline char *put_sges(char *at, const struct ibv_sge *sge, unsigned int n)
{
	if (!n)
		return at;
	do {
		*(struct ibv_sge *)at = *sge++;
		at += sizeof(*sge);
	} while (--n);
	return at;
}

static inline char *put_rdma(char *at, struct event_wr *wr, uint64_t addr, uint32_t rkey)
{
	*(struct event_rdma *)at = (struct event_rdma){ .remote_addr = addr, .rkey = rkey };
	wr->parts |= WR_RDMA;
	return at + sizeof(struct event_rdma);
}

static char *put_atomic(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	at = put_rdma(at, wr, from->wr.atomic.remote_addr, from->wr.atomic.rkey);
	*(struct event_atomic *)at =
		(struct event_atomic){ .compare_add = from->wr.atomic.compare_add,
				       .swap = from->wr.atomic.swap };
	wr->parts |= WR_ATOMIC;
	return at + sizeof(struct event_atomic);
}

static char *put_ud(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	*(struct event_ud *)at = (struct event_ud){ .ah = (uint64_t)(uintptr_t)from->wr.ud.ah,
						    .remote_qpn = from->wr.ud.remote_qpn,
						    .remote_qkey = from->wr.ud.remote_qkey };
	wr->parts |= WR_UD;
	return at + sizeof(struct event_ud);
}

static char *put_bind(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	const struct ibv_mw_bind_info *info = &from->bind_mw.bind_info;

	*(struct event_bind *)at = (struct event_bind){ .mw = (uint64_t)(uintptr_t)from->bind_mw.mw,
							.rkey = from->bind_mw.rkey,
							.mr = (uint64_t)(uintptr_t)info->mr,
							.addr = info->addr,
							.length = info->length,
							.access = info->mw_access_flags };
	wr->parts |= WR_BIND;
	return at + sizeof(struct event_bind);
}

static char *put_tso(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	*(struct event_tso *)at = (struct event_tso){ .hdr = (uint64_t)(uintptr_t)from->tso.hdr,
						      .hdr_sz = from->tso.hdr_sz,
						      .mss = from->tso.mss };
	wr->parts |= WR_TSO;
	return at + sizeof(struct event_tso);
}

/* Write the fields that do not fit into the request's word: needs_odd_part(). */
static char *put_separate_fields(char *at, struct event_wr *wr, int opcode, uint32_t flags,
				 int num_sge)
{
	*(struct event_odd *)at =
		(struct event_odd){ .opcode = opcode, .flags = flags, .num_sge = num_sge };
	wr->parts |= WR_ODD;
	return at + sizeof(struct event_odd);
}

/* Write the request without its parts. */
static inline void put_wr(struct event_wr *wr, uint64_t wr_id, unsigned int opcode,
			  unsigned int flags, unsigned int nsge)
{
	wr->wr_id = wr_id;
	event_wr_put_word(wr, event_wr_word(opcode, flags, nsge, 0, 0));
}

/* Write the parts that this operation has. */
static inline char *put_operation(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	switch ((int)from->opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wr->imm = be32toh(from->imm_data);
		/* fall through */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		return put_rdma(at, wr, from->wr.rdma.remote_addr, from->wr.rdma.rkey);
	case IBV_WR_SEND_WITH_IMM:
		wr->imm = be32toh(from->imm_data);
		return at;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr->imm = from->invalidate_rkey;
		return at;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return put_atomic(at, wr, from);
	case IBV_WR_BIND_MW:
		return put_bind(at, wr, from);
	case IBV_WR_TSO:
		return put_tso(at, wr, from);
	default:
		return at;
	}
}

/* Write the part with the destination, for requests on datagram and XRC queue pairs. */
static inline char *put_address(char *at, struct event_wr *wr, const struct ibv_qp *qp,
				const struct ibv_send_wr *from)
{
	if (qp->qp_type == IBV_QPT_UD)
		return put_ud(at, wr, from);
	if (qp->qp_type != IBV_QPT_XRC_SEND)
		return at;
	*(struct event_xrc *)at =
		(struct event_xrc){ .remote_srqn = from->qp_type.xrc.remote_srqn };
	wr->parts |= WR_XRC;
	return at + sizeof(struct event_xrc);
}

static inline bool needs_odd_part(const struct ibv_send_wr *from)
{
	return (unsigned int)from->num_sge > SGES || (!from->sg_list && from->num_sge) ||
	       ((unsigned int)from->opcode | from->send_flags) > 255;
}

/* The number of SGEs that are read: some operations use none, whatever num_sge contains. */
static inline unsigned int sges_of(const struct ibv_send_wr *from)
{
	if ((unsigned int)from->num_sge > SGES || !from->sg_list ||
	    from->opcode == IBV_WR_LOCAL_INV || from->opcode == IBV_WR_BIND_MW)
		return 0;
	return (unsigned int)from->num_sge;
}

INLINE char *put_send_as(char *at, const struct ibv_qp *qp, const struct ibv_send_wr *from,
			 bool odd)
{
	bool plain = !odd && from->opcode == IBV_WR_SEND;
	unsigned int nsge = plain ? (unsigned int)from->num_sge : sges_of(from);
	struct event_wr *wr = (void *)at;

	at += sizeof(*wr);
	put_wr(wr, from->wr_id, (unsigned int)from->opcode, from->send_flags, nsge);
	if (!plain)
		at = put_operation(at, wr, from);
	if (qp->qp_type > IBV_QPT_UC)
		at = put_address(at, wr, qp, from);
	if (odd)
		at = put_separate_fields(at, wr, (int)from->opcode, from->send_flags,
					 from->num_sge);
	return put_sges(at, from->sg_list, nsge);
}

static __attribute__((noinline, cold)) char *put_odd_send(char *at, const struct ibv_qp *qp,
							  const struct ibv_send_wr *from)
{
	return put_send_as(at, qp, from, true);
}

INLINE char *put_send(char *at, const struct ibv_qp *qp, const struct ibv_send_wr *from)
{
	return __builtin_expect(needs_odd_part(from), 0) ? put_odd_send(at, qp, from)
							 : put_send_as(at, qp, from, false);
}

INLINE char *put_recv(char *at, const struct ibv_recv_wr *from)
{
	struct event_wr *wr = (void *)at;
	bool odd = (unsigned int)from->num_sge > SGES || (!from->sg_list && from->num_sge);
	unsigned int nsge = odd ? 0 : (unsigned int)from->num_sge;

	at += sizeof(*wr);
	put_wr(wr, from->wr_id, 0, 0, nsge);
	if (__builtin_expect(odd, 0))
		at = put_separate_fields(at, wr, 0, 0, from->num_sge);
	return put_sges(at, from->sg_list, nsge);
}

/* The list is long: publish its first @nwr requests, and continue in a new event. */
static __attribute__((noinline, cold)) struct event_post *
end_part(struct event_post *event, const char *end, unsigned int nwr)
{
	uint16_t verb = event->verb, site = event->site;
	const void *object = (const void *)(uintptr_t)event->object;

	event->head.flags |= EVENT_PART;
	event->nwr = (uint16_t)nwr;
	record_commit(&event->head, bytes_of(event, end) / 8);
	return start_post(verb, object, site);
}

static inline void hold_post(struct post *post, struct event_post *event, const char *end,
			     unsigned int nwr)
{
	event->nwr = (uint16_t)nwr;
	post->event = event;
	post->hold = record_hold(&event->head, bytes_of(event, end), post->list.frame);
}

/* A list that is being written, in as many events as needed. */
struct post_list_writer {
	struct post *post;
	struct event_post *event; /* NULL: no space */
	char *at;
	unsigned int before; /* number of requests in earlier events */
};

static inline struct post_list_writer list_begin(struct post *post, struct event_post *event)
{
	post->list.n = 0;
	return (struct post_list_writer){ post, event, (char *)(event + 1), 0 };
}

/* Is there another request, and space for it? */
static inline bool list_has_next(struct post_list_writer *list, const void *wr)
{
	struct post *post = list->post;

	if (!wr || post->list.n == LIST_MAX)
		return false;
	if (__builtin_expect(bytes_of(list->event, list->at) > PART_BYTES, 0)) {
		list->event = end_part(list->event, list->at, post->list.n - list->before);
		if (!list->event)
			return false;
		list->at = (char *)(list->event + 1);
		list->before = post->list.n;
	}
	wr_list_add(&post->list, wr);
	return true;
}

static inline bool list_end(const struct post_list_writer *list)
{
	if (list->event)
		hold_post(list->post, list->event, list->at, list->post->list.n - list->before);
	return list->event;
}

static __attribute__((noinline)) bool put_sends(struct post *post, struct event_post *event,
						const struct ibv_qp *qp,
						const struct ibv_send_wr *wr)
{
	struct post_list_writer list = list_begin(post, event);

	for (; list_has_next(&list, wr); wr = wr->next)
		list.at = put_send(list.at, qp, wr);
	return list_end(&list);
}

static __attribute__((noinline)) bool put_recvs(struct post *post, struct event_post *event,
						const struct ibv_recv_wr *wr)
{
	struct post_list_writer list = list_begin(post, event);

	for (; list_has_next(&list, wr); wr = wr->next)
		list.at = put_recv(list.at, wr);
	return list_end(&list);
}

/* Write a list of one request, the most common case. */
INLINE bool hold_single_request(struct post *post, struct event_post *event, const char *end,
				const void *wr)
{
	post->list.n = 1;
	post->list.first = wr;
	hold_post(post, event, end, 1);
	return true;
}

INLINE bool begin_send(struct post *post, const struct ibv_qp *qp, const struct ibv_send_wr *wr,
		       uint16_t site, bool carries)
{
	struct event_post *event = start_post(VERB_post_send, qp, site);

	if (!event)
		return false;
	if (carries)
		event->head.flags |= EVENT_CARRIES;
	if (__builtin_expect(!wr || wr->next, 0))
		return put_sends(post, event, qp, wr);
	return hold_single_request(post, event, put_send((char *)(event + 1), qp, wr), wr);
}

INLINE bool begin_recv(struct post *post, enum verb verb, const void *queue,
		       const struct ibv_recv_wr *wr)
{
	struct event_post *event = start_post((uint16_t)verb, queue, site_of(post->list.frame));

	if (!event)
		return false;
	if (__builtin_expect(!wr || wr->next, 0))
		return put_recvs(post, event, wr);
	return hold_single_request(post, event, put_recv((char *)(event + 1), wr), wr);
}

/* For recorder.special: a filter may exclude the post, and its payload is written before it. */
static __attribute__((noinline)) bool begin_special_send(struct post *post, const struct ibv_qp *qp,
							 const struct ibv_send_wr *wr)
{
	bool taken = !recorder.filter || filter_takes_post(VERB_post_send, qp);
	/* must be determined before the payload is written */
	uint16_t site = taken ? site_of(post->list.frame) : 0;
	bool carries = payload_on && payload_capture_sends(&post->list, qp, wr, taken);

	return taken && begin_send(post, qp, wr, site, carries);
}

static __attribute__((noinline)) bool begin_special_recv(struct post *post, enum verb verb,
							 const void *queue,
							 const struct ibv_recv_wr *wr)
{
	bool taken = !recorder.filter || filter_takes_post((uint16_t)verb, queue);

	if (payload_on)
		payload_note_receives(&post->list, queue, wr);
	return taken && begin_recv(post, verb, queue, wr);
}

/* Defines the recorded verb. @refused: forgets the stored payload buffers. */
#define POST(verb, queue_t, wr_t, begin, begin_special, refused)                             \
	int verb(struct queue_t *queue, struct wr_t *wr, struct wr_t **bad, verb##_fn *next, \
		 const void *const *frame)                                                   \
	{                                                                                    \
		struct post post;                                                            \
		bool on;                                                                     \
		int ret;                                                                     \
                                                                                             \
		if (!record_ready())                                                         \
			return next(queue, wr, bad);                                         \
		wr_list_init(&post.list, frame);                                             \
		on = __builtin_expect(recorder.special, 0) ? begin_special : begin;          \
		ret = next(queue, wr, bad);                                                  \
		if (__builtin_expect(ret && payload_on, 0))                                  \
			refused(&post.list, queue, bad ? *bad : NULL);                       \
		payload_end_post(&post.list);                                                \
		if (on)                                                                      \
			post_end(&post, ret, ret &&bad ? *bad : NULL);                       \
		wr_list_fini(&post.list);                                                    \
		return ret;                                                                  \
	}

POST(post_send, ibv_qp, ibv_send_wr, begin_send(&post, queue, wr, site_of(frame), false),
     begin_special_send(&post, queue, wr), payload_forget_sends)
POST(post_recv, ibv_qp, ibv_recv_wr, begin_recv(&post, VERB_post_recv, queue, wr),
     begin_special_recv(&post, VERB_post_recv, queue, wr), payload_forget_receives)
POST(post_srq_recv, ibv_srq, ibv_recv_wr, begin_recv(&post, VERB_post_srq_recv, queue, wr),
     begin_special_recv(&post, VERB_post_srq_recv, queue, wr), payload_forget_receives)
POST(post_wq_recv, ibv_wq, ibv_recv_wr, begin_recv(&post, VERB_post_wq_recv, queue, wr),
     begin_special_recv(&post, VERB_post_wq_recv, queue, wr), payload_forget_receives)

static size_t built_bytes(const struct event_wr *wr)
{
	return sizeof(*wr) + wr_parts_bytes(wr->parts) + wr->nsge * sizeof(struct event_sge);
}

static inline void copy_word(char *to, const char *from)
{
	memcpy(to, from, 8);
}

/*
 * Copy built requests, which have the format of put_send(), word by word, as they were written.
 * Most batches have one request with one element, or one part.
 */
static inline char *put_built(char *at, const char *wrs, size_t bytes)
{
	if (__builtin_expect(bytes == 32, 1)) {
		copy_word(at, wrs);
		copy_word(at + 8, wrs + 8);
		copy_word(at + 16, wrs + 16);
		copy_word(at + 24, wrs + 24);
		return at + 32;
	}
	for (size_t i = 0; i < bytes; i += 8)
		copy_word(at + i, wrs + i);
	return at + bytes;
}

/* The batch does not fit into one event: copy request by request. */
static __attribute__((noinline, cold)) bool put_long(struct post *post, struct event_post *event,
						     const struct builder *b)
{
	char *at = (char *)(event + 1);
	const char *wrs = b->at;
	uint32_t before = 0;

	for (uint32_t i = 0; i < b->nwr; i++) {
		size_t bytes = built_bytes((const void *)wrs);

		if (bytes_of(event, at) > PART_BYTES) {
			event = end_part(event, at, i - before);
			if (!event)
				return false;
			at = (char *)(event + 1);
			before = i;
		}
		at = put_built(at, wrs, bytes);
		wrs += bytes;
	}
	hold_post(post, event, at, b->nwr - before);
	return true;
}

INLINE bool begin_built(struct post *post, enum verb verb, const struct ibv_qp *qp,
			const struct builder *b, uint16_t site, bool carries)
{
	struct event_post *event = start_post((uint16_t)verb, qp, site);
	const size_t bytes = builder_bytes(b);

	if (!event)
		return false;
	if (carries)
		event->head.flags |= EVENT_CARRIES;
	if (__builtin_expect(bytes > PART_BYTES, 0))
		return put_long(post, event, b);
	hold_post(post, event, put_built((char *)(event + 1), b->at, bytes), b->nwr);
	return true;
}

static __attribute__((noinline)) bool
begin_special_built(struct post *post, enum verb verb, const struct ibv_qp *qp, struct builder *b)
{
	bool taken = !recorder.filter || filter_takes_post((uint16_t)verb, qp);
	uint16_t site = taken ? site_of(post->list.frame) : 0;
	bool carries = payload_on && verb == VERB_wr_complete &&
		       payload_capture_built(&post->list, qp, b, taken);

	return taken && begin_built(post, verb, qp, b, site, carries);
}

/* The open batch of @qp in this thread; NULL: unknown. */
static inline struct builder *find_open(const struct ibv_qp_ex *qp)
{
	struct builder *b = builder_find(qp);

	return b && atomic_load_explicit(&b->open, memory_order_relaxed) ? b : NULL;
}

/*
 * The value that wr_id has now is not that of the last request: it was set behind ibv_wr_send() or
 * the like, which takes the value. Reported once, and not for a single batch: wr_id may have been
 * reset.
 */
static __attribute__((noinline, cold)) void note_late_wr_id(struct builder *b,
							    const struct ibv_qp *qp)
{
	if (b->late < REPORTED_LATE && ++b->late == REPORTED_LATE)
		strict_report(&(struct misuse){
			.what = MISUSE_LATE_WR_ID, .object = qp, .verb = VERB_wr_complete });
}

/*
 * Write the batch, which is already in the format of the ring. False: nothing is written. There is
 * no open batch without ibv_wr_start(), if the recording began after it, if too many batches are
 * open, or if another thread has begun the batch.
 */
INLINE bool write_built(struct post *post, enum verb verb, const struct ibv_qp_ex *qp)
{
	const struct ibv_qp *base = &qp->qp_base;
	struct builder *b;
	bool on;

	if (!record_ready())
		return false;
	b = find_open(qp);
	if (__builtin_expect(!b || b->cut, 0) && (b || verb == VERB_wr_complete))
		record_report_blind(BLIND_EXTENDED_QP, base);
	if (!b) {
		post->unknown = true;
		return false;
	}
	if (__builtin_expect(b->last && b->last->wr_id != qp->wr_id, 0) && qp->wr_id &&
	    verb == VERB_wr_complete)
		note_late_wr_id(b, base);
	on = __builtin_expect(recorder.special, 0)
		     ? begin_special_built(post, verb, base, b)
		     : begin_built(post, verb, base, b, site_of(post->list.frame), false);
	atomic_store_explicit(&b->open, false, memory_order_relaxed);
	return on;
}

/* The provider has refused the batch: none of its requests is outstanding. */
static __attribute__((noinline, cold)) void forget_refused_batch(const struct ibv_qp_ex *qp)
{
	const struct builder *b = builder_find(qp);

	if (b)
		payload_forget_built(&qp->qp_base, b);
}

/* A batch of unknown requests was refused: record the call, without them. */
static __attribute__((noinline, cold)) bool begin_unknown(struct post *post,
							  const struct ibv_qp *qp)
{
	const int saved = errno;
	struct event_post *event = NULL;

	if (record_ready() && (!recorder.filter || filter_takes_post(VERB_wr_complete, qp)))
		event = start_post(VERB_wr_complete, qp, site_of(post->list.frame));
	if (event)
		hold_post(post, event, (char *)(event + 1), 0);
	errno = saved;
	return event;
}

int post_complete_batch(struct ibv_qp_ex *qp, wr_complete_fn *next, const void *const *frame)
{
	struct post post;
	bool on;
	int ret;

	post.unknown = false;
	wr_list_init(&post.list, frame);
	on = write_built(&post, VERB_wr_complete, qp);
	ret = next(qp);
	if (__builtin_expect(ret && payload_on, 0))
		forget_refused_batch(qp);
	if (__builtin_expect(ret && post.unknown, 0))
		on = begin_unknown(&post, &qp->qp_base);
	payload_end_post(&post.list);
	if (on)
		post_end(&post, ret, NULL);
	return ret;
}

void post_discard_batch(const struct ibv_qp_ex *qp, const void *const *frame)
{
	struct post post;

	wr_list_init(&post.list, frame);
	if (write_built(&post, VERB_wr_abort, qp))
		post_end(&post, 0, NULL);
}

void post_fail(const struct post *post, int ret, const void *bad)
{
	enum verb verb;
	uint32_t seq;

	if (!record_held(post->hold))
		return;
	post->event->ret = ret > 0 ? ret & 0xfff : -(-ret & 0xfff);
	post->event->bad = wr_list_find(&post->list, bad) & 0x1ff;
	verb = (enum verb)post->event->verb;
	seq = post->event->head.seq;
	record_release(post->hold);
	stop_at_data(verb, ret, seq);
}
