/*
 * A post in the ring
 *
 *	EVENT_POST, object, verb, count, result | wr, parts, sges | wr, ...
 *
 * A work request takes 16 bytes, each SGE 16, and what only some operations
 * have (remote address, atomic operands, ...) a part of its own: a SEND of one
 * SGE is one event of 64 bytes. A list longer than PART_BYTES goes on in
 * further events; those before the last are published before the verb is
 * called, which does not matter: they are not valid without it.
 */
#include "shim/trace/post.h"

#include "shim/trace/payload.h"
#include "shim/trace/sieve.h"
#include "shim/trace/site.h"

#include <endian.h>
#include <string.h>

enum {
	WR_BYTES = 1024,          /* more than one work request takes */
	PART_BYTES = 16 << 10,
	SGES = 32,                /* read of one request; a device has fewer */
	LIST_MAX = 1 << 16,       /* a list that runs in a circle ends here */
};

_Static_assert(sizeof(struct event_wr) + sizeof(struct event_rdma) + sizeof(struct event_atomic) +
	       sizeof(struct event_ud) + 8 + sizeof(struct event_bind) + sizeof(struct event_tso) +
	       sizeof(struct event_odd) + SGES * sizeof(struct event_sge) <= WR_BYTES, "WR_BYTES");
_Static_assert(sizeof(struct event_sge) == sizeof(struct ibv_sge), "copied as they are");

/* Each post comes here: as a call it would cost a tenth of what the rest does. */
static inline __attribute__((always_inline)) struct event_post *start(uint16_t verb,
								      const void *object,
								      uint16_t site)
{
	struct event_post *event = record_reserve(sizeof(*event) + WR_BYTES + PART_BYTES);

	if (!event)
		return NULL;
	/* as a whole: setting the parts of a word would read the ring, which is cold */
	*event = (struct event_post){ .object = (uint64_t)(uintptr_t)object,
				      .verb = verb & 0x1ff,
				      .site = site };
	record_head(&event->head, EVENT_POST, record_ticks());
	return event;
}

/* Does the filter leave the post in? Then it has a place in the program. */
static inline bool is_taken(struct post *post, uint16_t verb, const void *queue)
{
	if (__builtin_expect(recorder.sieve != NULL, 0) && !sieve_takes_post(verb, queue))
		return false;
	post->site = site_of(post->frame);
	return true;
}

/* The first event of a post; with @carries its payload is there already. */
static inline struct event_post *begin(const struct post *post, uint16_t verb, const void *queue,
				       bool taken, bool carries)
{
	struct event_post *event = taken ? start(verb, queue, post->site) : NULL;

	if (__builtin_expect(carries, 0) && event)
		event->head.flags |= EVENT_CARRIES;
	return event;
}

/* The list is long: publish what there is, and go on in a new event. */
static __attribute__((noinline)) struct event_post *part(struct event_post *event, size_t bytes)
{
	uint16_t verb = event->verb, site = event->site;
	const void *object = (const void *)(uintptr_t)event->object;

	event->head.flags |= EVENT_PART;
	record_commit(&event->head, bytes / 8);
	return start(verb, object, site);
}

static size_t bytes_of(const struct event_post *event, const void *end)
{
	return (size_t)((const char *)end - (const char *)event);
}

static inline char *put_sges(char *at, const struct ibv_sge *sge, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++, at += sizeof(*sge))
		*(struct ibv_sge *)at = sge[i];
	return at;
}

static char *put_rdma(char *at, struct event_wr *wr, uint64_t addr, uint32_t rkey)
{
	*(struct event_rdma *)at = (struct event_rdma){ addr, rkey };
	wr->parts |= WR_RDMA;
	return at + sizeof(struct event_rdma);
}

static char *put_atomic(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	at = put_rdma(at, wr, from->wr.atomic.remote_addr, from->wr.atomic.rkey);
	*(struct event_atomic *)at =
		(struct event_atomic){ from->wr.atomic.compare_add, from->wr.atomic.swap };
	wr->parts |= WR_ATOMIC;
	return at + sizeof(struct event_atomic);
}

static char *put_ud(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	*(struct event_ud *)at = (struct event_ud){ (uint64_t)(uintptr_t)from->wr.ud.ah,
						    from->wr.ud.remote_qpn,
						    from->wr.ud.remote_qkey };
	wr->parts |= WR_UD;
	return at + sizeof(struct event_ud);
}

static char *put_bind(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	const struct ibv_mw_bind_info *info = &from->bind_mw.bind_info;

	*(struct event_bind *)at = (struct event_bind){
		(uint64_t)(uintptr_t)from->bind_mw.mw, (uint64_t)(uintptr_t)info->mr, info->addr,
		info->length, from->bind_mw.rkey, info->mw_access_flags };
	wr->parts |= WR_BIND;
	return at + sizeof(struct event_bind);
}

static char *put_tso(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	*(struct event_tso *)at = (struct event_tso){ (uint64_t)(uintptr_t)from->tso.hdr,
						      from->tso.hdr_sz, from->tso.mss };
	wr->parts |= WR_TSO;
	return at + sizeof(struct event_tso);
}

/* What only this operation has. */
static char *put_operation(char *at, struct event_wr *wr, const struct ibv_send_wr *from)
{
	switch ((int)from->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		return put_rdma(at, wr, from->wr.rdma.remote_addr, from->wr.rdma.rkey);
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

static uint32_t immediate(const struct ibv_send_wr *from)
{
	switch ((int)from->opcode) {
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return be32toh(from->imm_data);
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		return from->invalidate_rkey;
	default:
		return 0;
	}
}

static char *put_odd(char *at, struct event_wr *wr, int opcode, uint32_t flags, int num_sge)
{
	*(struct event_odd *)at = (struct event_odd){ opcode, flags, num_sge, 0 };
	wr->parts |= WR_ODD;
	return at + sizeof(struct event_odd);
}

static bool is_odd(const struct ibv_send_wr *from)
{
	return (unsigned int)from->num_sge > SGES || (from->num_sge && !from->sg_list) ||
	       (unsigned int)from->opcode > 255 || from->send_flags > 255;
}

/* How many are read: these operations have none, whatever is in the fields. */
static inline uint8_t sges_of(const struct ibv_send_wr *from)
{
	if ((unsigned int)from->num_sge > SGES || !from->sg_list ||
	    from->opcode == IBV_WR_LOCAL_INV || from->opcode == IBV_WR_BIND_MW)
		return 0;
	return (uint8_t)from->num_sge;
}

static inline char *put_send(char *at, const struct ibv_qp *qp, const struct ibv_send_wr *from)
{
	struct event_wr *wr = (void *)at;
	bool odd = is_odd(from);

	at += sizeof(*wr);
	*wr = (struct event_wr){ .wr_id = from->wr_id,
				 .opcode = (uint8_t)from->opcode,
				 .flags = (uint8_t)from->send_flags,
				 .nsge = sges_of(from) };
	if (from->opcode != IBV_WR_SEND) {
		wr->imm = immediate(from);
		at = put_operation(at, wr, from);
	}
	if (qp->qp_type == IBV_QPT_UD)
		at = put_ud(at, wr, from);
	if (qp->qp_type == IBV_QPT_XRC_SEND) {
		*(uint64_t *)at = from->qp_type.xrc.remote_srqn;
		wr->parts |= WR_XRC;
		at += 8;
	}
	if (odd)
		at = put_odd(at, wr, (int)from->opcode, from->send_flags, from->num_sge);
	return put_sges(at, from->sg_list, wr->nsge);
}

static inline char *put_recv(char *at, const struct ibv_recv_wr *from)
{
	struct event_wr *wr = (void *)at;
	bool odd = (unsigned int)from->num_sge > SGES || (from->num_sge && !from->sg_list);

	at += sizeof(*wr);
	*wr = (struct event_wr){ .wr_id = from->wr_id, .nsge = odd ? 0 : (uint8_t)from->num_sge };
	if (odd)
		at = put_odd(at, wr, 0, 0, from->num_sge);
	return put_sges(at, from->sg_list, wr->nsge);
}

static inline void remember(struct post *post, const void *wr)
{
	if (post->nwr < POST_WRS)
		post->wrs[post->nwr] = wr;
	post->nwr++;
}

static bool hold(struct post *post, struct event_post *event, const char *end, const void *frame)
{
	post->event = event;
	post->hold = record_hold(&event->head, bytes_of(event, end) / 8, frame);
	return true;
}

bool post_begin_send(struct post *post, const struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	bool taken = is_taken(post, VERB_post_send, qp), carries = false;
	struct event_post *event;
	char *at;

	if (__builtin_expect(payload_on, 0))
		carries = payload_sends(post, qp, wr, taken);
	event = begin(post, VERB_post_send, qp, taken, carries);
	if (!event)
		return false;
	post->nwr = 0;
	at = (char *)(event + 1);
	for (int n = 0; wr && n < LIST_MAX; wr = wr->next, n++) {
		if (bytes_of(event, at) > PART_BYTES) {
			event = part(event, bytes_of(event, at));
			if (!event)
				return false;
			at = (char *)(event + 1);
		}
		remember(post, wr);
		at = put_send(at, qp, wr);
		event->nwr++;
	}
	return hold(post, event, at, __builtin_frame_address(0));
}

bool post_begin_recv(struct post *post, enum verb verb, const void *queue,
		     const struct ibv_recv_wr *wr)
{
	bool taken = is_taken(post, (uint16_t)verb, queue);
	struct event_post *event;
	char *at;

	if (__builtin_expect(payload_on, 0))
		payload_receives(post, queue, wr);
	event = begin(post, (uint16_t)verb, queue, taken, false);
	if (!event)
		return false;
	post->nwr = 0;
	at = (char *)(event + 1);
	for (int n = 0; wr && n < LIST_MAX; wr = wr->next, n++) {
		if (bytes_of(event, at) > PART_BYTES) {
			event = part(event, bytes_of(event, at));
			if (!event)
				return false;
			at = (char *)(event + 1);
		}
		remember(post, wr);
		at = put_recv(at, wr);
		event->nwr++;
	}
	return hold(post, event, at, __builtin_frame_address(0));
}

static size_t built_bytes(const struct event_wr *wr)
{
	return sizeof(*wr) + wr_parts_bytes(wr->parts) + wr->nsge * sizeof(struct event_sge);
}

/* As put_send() would have written them; in steps of a word, a call of memcpy() takes longer. */
static inline char *put_built(char *at, const char *wrs, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8)
		memcpy(at + i, wrs + i, 8);
	return at + bytes;
}

/* More than one event holds: request by request. */
static struct event_post *put_long(struct event_post *event, char **at, const char *wrs,
				   uint32_t nwr)
{
	for (uint32_t i = 0; i < nwr; i++) {
		size_t bytes = built_bytes((const void *)wrs);

		if (bytes_of(event, *at) > PART_BYTES) {
			event = part(event, bytes_of(event, *at));
			if (!event)
				return NULL;
			*at = (char *)(event + 1);
		}
		*at = put_built(*at, wrs, bytes);
		wrs += bytes;
		event->nwr++;
	}
	return event;
}

bool post_begin_built(struct post *post, enum verb verb, const struct ibv_qp *qp, struct builder *b)
{
	bool taken = is_taken(post, (uint16_t)verb, qp), carries = false;
	struct event_post *event;
	char *at;

	if (__builtin_expect(payload_on, 0) && verb == VERB_wr_complete)
		carries = payload_built(qp, b, taken);
	event = begin(post, (uint16_t)verb, qp, taken, carries);
	if (!event)
		return false;
	post->nwr = 0;
	at = (char *)(event + 1);
	if (__builtin_expect(b->used <= PART_BYTES, 1)) {
		event->nwr = (uint16_t)b->nwr;
		at = put_built(at, b->at, b->used);
	} else {
		event = put_long(event, &at, b->at, b->nwr);
		if (!event)
			return false;
	}
	return hold(post, event, at, __builtin_frame_address(0));
}

/* 1 + the place of @bad in the list; 0 where it is not among the first POST_WRS. */
static uint16_t find_bad(const struct post *post, const void *bad)
{
	for (unsigned int i = 0; i < post->nwr && i < POST_WRS; i++)
		if (post->wrs[i] == bad)
			return (uint16_t)(i + 1);
	return 0;
}

void post_end(struct post *post, int ret, const void *bad)
{
	if (ret && record_held(post->hold)) { /* else it is 0, and no *bad_wr, as it was */
		post->event->ret = ret > 0 ? ret & 0xfff : -(-ret & 0xfff);
		post->event->bad = find_bad(post, bad) & 0x1ff;
	}
	record_release(post->hold);
}
