/*
 * Capturing sent data at the post, and received data at the completion
 *
 *	post of a send        -> its bytes, then the post's event
 *	  of a read, receive  -> the addresses of its buffers are noted (queues.h)
 *	poll                  -> the poll's event, then the bytes of those buffers
 *	ibv_wr_set_inline_*   -> its bytes at once, since the program may change them
 *
 * Addresses in requests are translated to addresses of the program by the region of their key
 * (keys.h).
 */
#include "shim/trace/payload/payload.h"

#include "core/wire/payload.h"
#include "shim/trace/base/defined.h"
#include "shim/trace/base/spin.h"
#include "shim/trace/objects/endpoints.h"
#include "shim/trace/objects/keys.h"
#include "shim/trace/objects/pollers.h"
#include "shim/trace/payload/payload_read.h"
#include "shim/trace/ring/record.h"

enum { GRH = 40, LIST_MAX = 1 << 16 };

bool payload_on;

struct payload_rule payload_rule;

static __thread uint32_t calls __attribute__((tls_model("initial-exec")));
static __thread unsigned int unsaid __attribute__((tls_model("initial-exec")));

void payload_begin(const struct payload_rule *rule, bool child)
{
	payload_rule = *rule;
	payload_on = rule->keep != PAYLOAD_NONE;
	record_set_unseen(false);
	if (!child || !payload_on)
		return;
	endpoints_abandon();
	keys_forget_all();
	spin_held = false;
}

/* Add the program's memory of an element; false: it is unknown, with the reason in r->why. */
static bool add_span(struct request *r, const struct ibv_context *context,
		     const struct event_sge *sge, bool by_key)
{
	struct span span = { sge->addr, sge->length };

	r->total += sge->length;
	if (r->why != PAYLOAD_WHOLE || !sge->length)
		return r->why == PAYLOAD_WHOLE;
	if (r->nspans == QUEUE_SPANS)
		r->why = PAYLOAD_LONG;
	else if (by_key)
		r->why = keys_find(context, sge->lkey, sge->addr, sge->length, &span.at);
	if (r->why == PAYLOAD_WHOLE)
		r->spans[r->nspans++] = span;
	return r->why == PAYLOAD_WHOLE;
}

/*
 * Add the spans of @n elements. A list longer than any device allows is not read, since the verb
 * refuses it without reading.
 */
static void add_spans(struct request *r, const struct ibv_context *context,
		      const struct event_sge *sges, int n, bool by_key)
{
	if (n > QUEUE_SPANS)
		r->why = PAYLOAD_LONG;
	for (int i = 0; i < n && n <= QUEUE_SPANS && sges; i++)
		add_span(r, context, &sges[i], by_key);
}

static void begin_request(struct request *r, uint64_t wr_id, enum payload_kind kind)
{
	r->wr_id = wr_id;
	r->kind = kind;
	r->why = PAYLOAD_WHOLE;
	r->total = 0;
	r->nspans = 0;
}

/* The kind of payload; PAYLOAD_KINDS: the operation has no buffer of the program. */
static enum payload_kind kind_of(int opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_ATOMIC_WRITE:
	case IBV_WR_TSO:
		return PAYLOAD_SEND;
	case IBV_WR_RDMA_READ:
		return PAYLOAD_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return PAYLOAD_ATOMIC;
	default:
		return PAYLOAD_KINDS;
	}
}

static void read_send(struct request *r, const struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	const struct event_sge *sges = (const void *)wr->sg_list;

	begin_request(r, wr->wr_id, kind_of((int)wr->opcode));
	if (r->kind == PAYLOAD_KINDS)
		return; /* whatever the other fields contain */
	if (wr->opcode == IBV_WR_TSO)
		add_span(r, qp->context,
			 &(struct event_sge){ (uint64_t)(uintptr_t)wr->tso.hdr, wr->tso.hdr_sz, 0 },
			 false);
	add_spans(r, qp->context, sges, wr->num_sge,
		  !(wr->send_flags & IBV_SEND_INLINE) && wr->opcode != IBV_WR_ATOMIC_WRITE);
}

static bool write_request(const struct request *r, const void *object, uint32_t of, uint32_t index,
			  uint64_t *budget)
{
	const struct payload_source source = {
		.object = (uint64_t)(uintptr_t)object,
		.of = of,
		.index = index,
		.kind = r->kind,
		.why = r->why,
		.total = r->total,
		.nspans = r->nspans,
		.spans = r->spans,
	};

	return payload_write(&source, &payload_rule, budget);
}

/* Store the buffers into which the request will have written when it completes. */
static void remember_buffers(struct wr_list *list, struct payload_queue *queue,
			     const struct request *r)
{
	if (!list->queue)
		queue_begin_post(queue);
	list->queue = queue;
	queue_add_request(queue, r);
}

bool payload_capture_sends(struct wr_list *list, const struct ibv_qp *qp,
			   const struct ibv_send_wr *wr, bool taken)
{
	struct endpoint *e = endpoints_find(qp);
	uint64_t budget = PAYLOAD_CALL_MAX;
	uint32_t of = ++calls, index = 0;
	bool wrote = false;
	struct request r;

	list->n = 0;
	for (; wr && index < LIST_MAX; wr = wr->next, index++) {
		wr_list_add(list, wr);
		read_send(&r, qp, wr);
		if (r.kind == PAYLOAD_SEND && taken)
			wrote |= write_request(&r, qp, of, index, &budget);
		else if (r.kind < PAYLOAD_KINDS && r.kind != PAYLOAD_SEND && e &&
			 (e->all_signaled || wr->send_flags & IBV_SEND_SIGNALED))
			remember_buffers(list, &e->send, &r);
	}
	return wrote;
}

static void read_recv(struct request *r, const struct endpoint *e, const struct ibv_recv_wr *wr)
{
	begin_request(r, wr->wr_id, PAYLOAD_RECV);
	add_spans(r, e->context, (const void *)wr->sg_list, wr->num_sge, true);
}

void payload_note_receives(struct wr_list *list, const void *queue, const struct ibv_recv_wr *wr)
{
	struct endpoint *e = endpoints_find(queue);
	struct request r;

	list->n = 0;
	for (uint32_t n = 0; e && wr && n < LIST_MAX; wr = wr->next, n++) {
		wr_list_add(list, wr);
		read_recv(&r, e, wr);
		remember_buffers(list, &e->recv, &r);
	}
}

/*
 * Is @bad in the list? Requests before @bad belong to the provider: only @bad and later ones may be
 * read.
 */
static bool is_listed(const struct wr_list *list, const void *bad)
{
	return wr_list_find(list, bad);
}

void payload_forget_sends(const struct wr_list *list, const struct ibv_qp *qp, const void *bad)
{
	struct endpoint *e = endpoints_find(qp);
	const struct ibv_send_wr *wr = bad;
	struct request r;

	if (!e)
		return;
	if (!is_listed(list, bad)) {
		queue_forget_requests(&e->send);
		return;
	}
	for (uint32_t n = 0; wr && n < LIST_MAX; wr = wr->next, n++) {
		read_send(&r, qp, wr);
		if (r.kind < PAYLOAD_KINDS && r.kind != PAYLOAD_SEND &&
		    (e->all_signaled || wr->send_flags & IBV_SEND_SIGNALED))
			queue_take_back(&e->send, &r);
	}
}

void payload_forget_receives(const struct wr_list *list, const void *queue, const void *bad)
{
	struct endpoint *e = endpoints_find(queue);
	const struct ibv_recv_wr *wr = bad;
	struct request r;

	if (!e)
		return;
	if (!is_listed(list, bad)) {
		queue_forget_requests(&e->recv);
		return;
	}
	for (uint32_t n = 0; wr && n < LIST_MAX; wr = wr->next, n++) {
		read_recv(&r, e, wr);
		queue_take_back(&e->recv, &r);
	}
}

void payload_capture_inline(const struct ibv_qp_ex *qp, struct builder *b,
			    const struct event_sge *sge)
{
	const struct event_wr *wr = b->last;
	uint64_t budget = PAYLOAD_CALL_MAX;
	struct request r;

	if (!wr || !record_ready())
		return;
	if (!b->payload)
		b->payload = ++calls;
	begin_request(&r, wr->wr_id, PAYLOAD_SEND);
	add_spans(&r, qp->qp_base.context, sge, wr->nsge, false);
	b->carries |= write_request(&r, &qp->qp_base, b->payload, b->nwr - 1, &budget);
}

static void read_built(struct request *r, const struct ibv_qp *qp, const struct event_wr *wr)
{
	const char *parts = (const char *)(wr + 1);
	const struct event_sge *sges = (const void *)(parts + wr_parts_bytes(wr->parts));
	const struct event_tso *tso =
		(const void *)(parts + wr_parts_bytes(wr->parts & (WR_TSO - 1)));

	begin_request(r, wr->wr_id, kind_of(wr->opcode));
	if (wr->parts & WR_TSO)
		add_span(r, qp->context, &(struct event_sge){ tso->hdr, tso->hdr_sz, 0 }, false);
	add_spans(r, qp->context, sges, wr->nsge, true);
}

static const struct event_wr *next_built_wr(const struct event_wr *wr)
{
	return (const void *)((const char *)(wr + 1) + wr_parts_bytes(wr->parts) +
			      wr->nsge * sizeof(struct event_sge));
}

static bool is_remembered(const struct endpoint *e, const struct event_wr *wr,
			  const struct request *r)
{
	return e && (r->kind == PAYLOAD_READ || r->kind == PAYLOAD_ATOMIC) &&
	       (e->all_signaled || wr->flags & IBV_SEND_SIGNALED);
}

bool payload_capture_built(struct wr_list *list, const struct ibv_qp *qp, struct builder *b,
			   bool taken)
{
	const struct event_wr *wr = (const void *)b->at;
	struct endpoint *e = endpoints_find(qp);
	uint64_t budget = PAYLOAD_CALL_MAX;
	bool carries = b->carries;
	struct request r;

	if (!b->payload)
		b->payload = ++calls;
	for (uint32_t i = 0; i < b->nwr; i++, wr = next_built_wr(wr)) {
		read_built(&r, qp, wr);
		if (r.kind == PAYLOAD_SEND && taken && !(wr->flags & IBV_SEND_INLINE))
			carries |= write_request(&r, qp, b->payload, i, &budget);
		else if (is_remembered(e, wr, &r))
			remember_buffers(list, &e->send, &r);
	}
	b->payload = 0;
	b->carries = false;
	return carries;
}

void payload_forget_built(const struct ibv_qp *qp, const struct builder *b)
{
	const struct event_wr *wr = (const void *)b->at;
	struct endpoint *e = endpoints_find(qp);
	struct request r;

	for (uint32_t i = 0; i < b->nwr; i++, wr = next_built_wr(wr)) {
		read_built(&r, qp, wr);
		if (is_remembered(e, wr, &r))
			queue_take_back(&e->send, &r);
	}
}

/* The queue of the completed request; NULL: not known, and *@why is the reason. */
static struct payload_queue *queue_of(const struct ibv_cq *cq, const struct ibv_wc *wc,
				      struct endpoint *e, enum payload_why *why)
{
	struct endpoint *srq = e ? atomic_load(&e->srq) : NULL;
	bool recv = wc->opcode & IBV_WC_RECV, several;
	struct payload_queue *queue;

	*why = PAYLOAD_REQUEST;
	if (e && !recv)
		return &e->send;
	if (srq)
		return &srq->recv;
	if (e && e->has_recv)
		return &e->recv;
	if (e && e->unknown_srq)
		return NULL;
	if (!recv && !(unsaid & PAYLOAD_NO_QP_NUM))
		return NULL;
	queue = endpoints_search(cq, wc->wr_id, recv, !(unsaid & PAYLOAD_NO_QP_NUM), &several);
	if (several)
		*why = PAYLOAD_AMBIGUOUS;
	return queue;
}

/*
 * The kinds of request that may have completed, as bits; 0 for a tagged buffer, which is not
 * posted.
 */
static unsigned int kinds_of(const struct ibv_wc *wc)
{
	switch ((int)wc->opcode) {
	case IBV_WC_TM_RECV:
		return wc->wc_flags & (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID) ? 0
									       : 1u << PAYLOAD_RECV;
	case IBV_WC_TM_NO_TAG:
	case IBV_WC_RECV:
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return 1u << PAYLOAD_RECV;
	case IBV_WC_RDMA_READ:
		return 1u << PAYLOAD_READ;
	case IBV_WC_COMP_SWAP:
	case IBV_WC_FETCH_ADD:
		return 1u << PAYLOAD_ATOMIC;
	default:
		return 0;
	}
}

static enum payload_kind first_kind(unsigned int kinds)
{
	return (enum payload_kind)__builtin_ctz(kinds);
}

/* Set how many bytes of the buffers were written. */
static void fill_source(struct payload_source *s, const struct request *r, const struct ibv_wc *wc,
			const struct endpoint *e)
{
	s->total = r->total;
	s->nspans = r->nspans;
	if (s->kind == PAYLOAD_RECV)
		s->total = wc->byte_len;
	if (s->kind == PAYLOAD_RECV && e && e->datagrams && wc->byte_len >= GRH)
		s->before = GRH;
	if (s->kind == PAYLOAD_ATOMIC && s->total > 8)
		s->total = 8;
	if (s->why != PAYLOAD_WHOLE)
		s->nspans = 0;
	else
		s->why = r->why;
}

/* Mark the written bytes as defined; bytes after them do not change. */
static void mark_defined(const struct payload_source *s)
{
	uint64_t left = s->total;

	for (unsigned int i = 0; i < s->nspans && left; i++) {
		const struct span *span = &s->spans[i];
		uint64_t n = span->length < left ? span->length : left;

		defined_bytes((const void *)(uintptr_t)span->at, n);
		left -= n;
	}
}

/*
 * After an error the opcode is not valid, so the side of the request is not known. Then the request
 * is not removed. That does no harm on a queue pair: nothing succeeds on it until RESET, which
 * drops all its requests. But in a shared queue the request remains, and makes its wr_id doubtful.
 */
static void complete_request(const struct ibv_cq *cq, const struct ibv_wc *wc, uint32_t seq,
			     uint32_t index)
{
	unsigned int kinds = wc->status == IBV_WC_SUCCESS ? kinds_of(wc) : 0;
	struct endpoint *e = kinds && !(unsaid & PAYLOAD_NO_QP_NUM)
				     ? endpoints_of_number(cq->context, wc->qp_num)
				     : NULL;
	struct payload_source s = { .of = seq, .index = index };
	uint64_t budget = PAYLOAD_CALL_MAX;
	struct payload_queue *queue;
	struct request r;

	if (!kinds)
		return;
	r.total = r.nspans = 0;
	r.why = PAYLOAD_WHOLE;
	queue = queue_of(cq, wc, e, &s.why);
	if (!e && wc->opcode & IBV_WC_RECV)
		e = endpoints_owner(queue);
	if (queue)
		s.why = queue_take_request(queue, wc->wr_id, kinds, pollers_is_single(cq), &r);
	if (!seq || wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return;
	if (record_has_unseen())
		s.why = PAYLOAD_REQUEST;
	s.kind = first_kind(kinds);
	s.spans = r.spans;
	if (unsaid & PAYLOAD_NO_LENGTH && s.kind == PAYLOAD_RECV)
		s.why = PAYLOAD_LENGTH;
	fill_source(&s, &r, wc, e);
	mark_defined(&s);
	payload_write(&s, &payload_rule, &budget);
}

void payload_capture_completions(const struct ibv_cq *cq, const struct ibv_wc *wc, uint32_t nwc,
				 uint32_t seq)
{
	for (uint32_t i = 0; i < nwc; i++)
		complete_request(cq, &wc[i], seq, i);
	unsaid = 0;
}

void payload_set_missing(unsigned int what)
{
	unsaid = what;
}
