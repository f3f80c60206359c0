#pragma once
/*
 * Random traffic and its fingerprints: each event, as it was made and as a cursor returns it,
 * becomes one number; the two lists must be equal.
 */
#include "tests/core/store/make_events.h"

#include <time.h>

static uint64_t random_seed;

static inline uint64_t random_next(void)
{
	random_seed ^= random_seed << 13;
	random_seed ^= random_seed >> 7;
	random_seed ^= random_seed << 17;
	return random_seed;
}

/* VERBATIM_SEED repeats a run that failed. */
static inline void random_choose(void)
{
	const char *given = getenv("VERBATIM_SEED");

	random_seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("VERBATIM_SEED=%llu\n", (unsigned long long)random_seed);
}

struct print {
	struct event_id id;
	int64_t time;
	uint64_t hash;
};

struct prints {
	struct print *list;
	size_t count, size;
};

static inline void prints_add(struct prints *prints, struct event_id id, int64_t time,
			      uint64_t hash)
{
	if (prints->count == prints->size) {
		prints->size = prints->size ? prints->size * 2 : 1024;
		prints->list = realloc(prints->list, prints->size * sizeof(*prints->list));
	}
	prints->list[prints->count++] = (struct print){ id, time, hash };
}

static inline uint64_t mix_number(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdull;
	return hash ^ hash >> 31;
}

static inline uint64_t print_wr(uint64_t h, const struct wr *wr)
{
#define VALUE(family, column, name, member, type, wire) (wire) wr->name,
#define PART(NAME, part)                                FIELDS_##NAME(VALUE)
	const uint64_t values[] = { EACH_SHOWN_PART(PART) wr->wr_id,
				    (uint32_t)wr->opcode,
				    wr->send_flags,
				    (uint32_t)wr->num_sge,
				    wr->nsge,
				    wr->imm };
#undef PART
#undef VALUE

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		h = mix_number(h, values[i]);
	for (uint32_t i = 0; i < wr->nsge; i++)
		h = mix_number(mix_number(mix_number(h, wr->sge[i].addr), wr->sge[i].length),
			       wr->sge[i].lkey);
	return h;
}

static inline uint64_t print_post(const struct post *post, bool inner)
{
	uint64_t h = mix_number(
		mix_number(mix_number(mix_number(mix_number(1, post->verb), post->handle),
				      (uint32_t)post->ret),
			   post->bad),
		inner);

	for (uint32_t i = 0; i < post->nwr; i++)
		h = print_wr(h, &post->wr[i]);
	return mix_number(h, post->nwr);
}

static inline uint64_t print_wc(uint64_t h, const struct wc *wc)
{
#define VALUE(family, column, name, member, type, wire) (wire) wc->name,
	const uint64_t values[] = { FIELDS_WC(VALUE) FIELDS_EXTRA(VALUE) };
#undef VALUE

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		h = mix_number(h, values[i]);
	return h;
}

static inline uint64_t print_poll(const struct poll *poll, bool inner)
{
	uint64_t h = mix_number(
		mix_number(mix_number(mix_number(mix_number(2, poll->verb), poll->handle),
				      (uint32_t)poll->ret),
			   poll->empty),
		inner | poll->filled << 1);

	for (uint32_t i = 0; i < poll->nwc; i++)
		h = print_wc(h, &poll->wc[i]);
	return mix_number(h, poll->nwc);
}

static inline uint64_t print_notify(const struct notify *notify)
{
	return mix_number(
		mix_number(mix_number(3, notify->handle), (uint32_t)notify->solicited_only),
		(uint32_t)notify->ret);
}

/* Matches count too when two traces are compared. */
static inline uint64_t print_matches(uint64_t h, const struct poll *poll)
{
	for (uint32_t i = 0; i < poll->nwc; i++)
		h = mix_number(mix_number(mix_number(mix_number(h, poll->wc[i].qp),
						     poll->wc[i].request.thread),
					  poll->wc[i].request.n),
			       poll->wc[i].request_index);
	return h;
}

static inline uint64_t print_event(const struct trace_event *e, bool matches)
{
	switch (e->kind) {
	case TRACE_POST:
		return mix_number(print_post(e->post, e->inner), matches ? e->post->object : 0);
	case TRACE_POLL:
		return mix_number(matches ? print_matches(print_poll(e->poll, e->inner), e->poll)
					  : print_poll(e->poll, e->inner),
				  0);
	case TRACE_NOTIFY:
		return mix_number(print_notify(e->notify), 0);
	case TRACE_CALL:
	case TRACE_RETURN:
		return mix_number(mix_number(4, e->call->verb), e->kind);
	default:
		return mix_number(5, e->kind);
	}
}

/* Numbers that are small, close to each other, or arbitrary. */
static inline uint64_t some_number(void)
{
	switch (random_next() % 4) {
	case 0:
		return random_next() % 4;
	case 1:
		return 0x7f0000000000 + random_next() % 65536;
	case 2:
		return UINT64_MAX - random_next() % 4;
	default:
		return random_next();
	}
}

struct parts_room {
	struct sge sges[8];
};

/* Write a random request to an event at @at; returns the following byte. */
static inline uint8_t *random_wr(uint8_t *at, struct wr *to, struct parts_room *room, bool send)
{
	struct event_wr *head = (void *)at;
	unsigned int parts = send ? (unsigned int)random_next() & WR_PARTS_ALL : 0;

	if (random_next() % 2)
		parts &= WR_RDMA;
	*to = (struct wr){ .wr_id = some_number(),
			   .opcode = (int)(random_next() % 12),
			   .send_flags = (uint32_t)(random_next() % 32),
			   .nsge = (uint32_t)(random_next() % 4),
			   .imm = (uint32_t)some_number(),
			   .sge = room->sges };
	to->num_sge = (int)to->nsge;
	*head = (struct event_wr){ .wr_id = to->wr_id,
				   .opcode = (uint8_t)to->opcode,
				   .flags = (uint8_t)to->send_flags,
				   .nsge = (uint8_t)to->nsge,
				   .parts = (uint8_t)parts,
				   .imm = to->imm };
	at += sizeof(*head);
#define SET(family, column, name, member, type, wire) e.member = to->name = (type)some_number();
#define PART(NAME, part)                       \
	if (parts & WR_##NAME) {               \
		struct event_##part e = { 0 }; \
                                               \
		FIELDS_##NAME(SET);            \
		memcpy(at, &e, sizeof(e));     \
		at += sizeof(e);               \
	}
	EACH_SHOWN_PART(PART);
#undef PART
#undef SET
	if (parts & WR_ODD) {
		struct event_odd o = { (int32_t)some_number(), (uint32_t)some_number(),
				       (int32_t)to->nsge + 1 + (int)(random_next() % 5), 0 };

		to->opcode = o.opcode;
		to->send_flags = o.flags;
		to->num_sge = o.num_sge;
		memcpy(at, &o, sizeof(o));
		at += sizeof(o);
	}
	if (!send)
		to->opcode = -1;
	for (uint32_t i = 0; i < to->nsge; i++) {
		struct event_sge s = { some_number(), (uint32_t)some_number(),
				       (uint32_t)some_number() };

		room->sges[i] = (struct sge){ s.addr, s.length, s.lkey };
		memcpy(at, &s, sizeof(s));
		at += sizeof(s);
	}
	return at;
}

enum { RANDOM_WRS = 24 };

/* A post of up to RANDOM_WRS requests, in one event or in parts. */
static inline void random_post(struct maker *m, struct prints *prints)
{
	static struct wr wrs[RANDOM_WRS];
	static struct parts_room rooms[RANDOM_WRS];
	static const enum verb verbs[] = { VERB_post_send, VERB_post_recv, VERB_post_srq_recv };
	struct post post = { .verb = verbs[random_next() % 3], .handle = some_number(), .wr = wrs };
	bool inner = random_next() % 8 == 0, more = true;
	uint64_t first_n = m->in.seq + 1;
	int64_t time = (int64_t)make_now;

	if (random_next() % 4 == 0) {
		post.ret = 12;
		post.bad = (uint32_t)(random_next() % 4);
	}
	while (more) {
		static uint64_t memory[1024];
		struct event_post *e = (void *)memory;
		uint8_t *at = (uint8_t *)(e + 1);
		uint32_t n = (uint32_t)(random_next() % 4);

		more = random_next() % 4 == 0 && post.nwr + 4 < RANDOM_WRS - 4;
		for (uint32_t i = 0; i < n; i++, post.nwr++)
			at = random_wr(at, &wrs[post.nwr], &rooms[post.nwr],
				       post.verb == VERB_post_send);
		memset(&e->head, 0, sizeof(e->head));
		e->object = post.handle;
		e->verb = (uint16_t)post.verb;
		e->nwr = (uint16_t)n;
		e->ret = (int16_t)post.ret;
		e->bad = (uint16_t)post.bad;
		{
			size_t bytes = (size_t)(at - (uint8_t *)memory);
			struct event_head *room = make_room(m, EVENT_POST, 0, bytes);
			struct event_head head = *room;

			memcpy(room, memory, bytes);
			*room = head;
			room->flags =
				(uint8_t)((inner ? EVENT_INNER : 0) | (more ? EVENT_PART : 0));
			make_done(m, room, bytes);
		}
	}
	prints_add(prints, (struct event_id){ m->thread, first_n }, time,
		   mix_number(print_post(&post, inner), 0));
}

/* Fields that are marked as absent are 0, as in a plain table. */
static inline struct event_wc_extra random_extra(struct wc *wc)
{
	wc->parts = (uint32_t)(random_next() % WC_PARTS);
	wc->timestamp = wc->parts & WC_TIMESTAMP ? random_next() : 0;
	wc->wallclock = wc->parts & WC_WALLCLOCK ? make_now : 0;
	wc->cvlan = wc->parts & WC_CVLAN ? (uint16_t)random_next() : 0;
	wc->flow_tag = wc->parts & WC_FLOW_TAG ? (uint32_t)random_next() : 0;
	wc->tm_tag = wc->parts & WC_TM ? random_next() : 0;
	wc->tm_priv = wc->parts & WC_TM ? (uint32_t)random_next() : 0;
#define MEMBER(family, column, name, member, type, wire) .member = (wire)wc->name,
	return (struct event_wc_extra){ FIELDS_EXTRA(MEMBER) };
#undef MEMBER
}

static inline void random_poll(struct maker *m, struct prints *prints, uint64_t *empty)
{
	static const enum verb verbs[] = { VERB_poll_cq, VERB_start_poll, VERB_next_poll };
	struct wc wcs[16];
	struct event_wc events[16];
	struct event_wc_extra extras[16];
	uint64_t more = random_next() % 100;
	struct poll poll = { .verb = verbs[random_next() % 3],
			     .handle = 0x1000,
			     .empty = more,
			     .nwc = (uint32_t)(random_next() % 16),
			     .wc = wcs };
	bool extra = poll.verb != VERB_poll_cq && random_next() % 2;
	int64_t time = (int64_t)make_now;
	uint32_t n;

	memset(events, 0, sizeof(events));
	for (uint32_t i = 0; i < poll.nwc; i++) {
		wcs[i] = (struct wc){ .wr_id = some_number(),
				      .status = (int)(random_next() % 22),
				      .opcode = (int)(random_next() % 8 | random_next() % 2 * 128),
				      .vendor_err = (uint32_t)some_number(),
				      .byte_len = 64,
				      .imm = (uint32_t)some_number(),
				      .qp_num = 17,
				      .wc_flags = (uint32_t)(random_next() % 16),
				      .sl = 3,
				      .pkey_index = (uint16_t)random_next(),
				      .slid = (uint16_t)random_next() };
		events[i] = (struct event_wc){ .wr_id = wcs[i].wr_id,
					       .status = (uint32_t)wcs[i].status,
					       .opcode = (uint32_t)wcs[i].opcode,
					       .vendor_err = wcs[i].vendor_err,
					       .byte_len = 64,
					       .qp_num = 17,
					       .wc_flags = wcs[i].wc_flags,
					       .sl = 3,
					       .pkey_index = wcs[i].pkey_index,
					       .slid = wcs[i].slid };
		events[i].imm = wcs[i].wc_flags & IBV_WC_WITH_INV ? wcs[i].imm
								  : __builtin_bswap32(wcs[i].imm);
		if (extra)
			extras[i] = random_extra(&wcs[i]);
	}
	poll.ret = (int)poll.nwc;
	poll.filled = poll.verb == VERB_poll_cq && random_next() % 2;
	*empty += more;
	make_filled = poll.filled;
	n = make_poll_by(m, poll.verb, (void *)0x1000, *empty, events, poll.nwc,
			 extra ? extras : NULL);
	prints_add(prints, (struct event_id){ m->thread, n }, time,
		   mix_number(print_poll(&poll, false), 0));
}

static inline void random_notify(struct maker *m, struct prints *prints)
{
	struct notify notify = { .handle = 0x1000 };
	int64_t time = (int64_t)make_now;
	uint32_t n = make_notify(m, (void *)0x1000);

	prints_add(prints, (struct event_id){ m->thread, n }, time,
		   mix_number(print_notify(&notify), 0));
}

static inline void random_call(struct maker *m, struct prints *prints)
{
	int64_t time = (int64_t)make_now;
	uint32_t n = make_call(m, VERB_dealloc_pd, 0, 0, MAKE_ARGS(0x77));

	prints_add(prints, (struct event_id){ m->thread, n }, time,
		   mix_number(mix_number(4, VERB_dealloc_pd), TRACE_CALL));
	time = (int64_t)make_now;
	make_return(m, n, VERB_dealloc_pd, MAKE_ARGS(0x77), 16, 16);
	prints_add(prints, (struct event_id){ m->thread, n }, time,
		   mix_number(mix_number(4, VERB_dealloc_pd), TRACE_RETURN));
}

static inline void random_event(struct maker *m, struct prints *prints, uint64_t *empty)
{
	switch (random_next() % 16) {
	case 0:
		random_notify(m, prints);
		break;
	case 1:
		random_call(m, prints);
		break;
	case 2 ... 8:
		random_poll(m, prints, empty);
		break;
	default:
		random_post(m, prints);
	}
}
