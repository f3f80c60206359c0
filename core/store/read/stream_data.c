/*
 * Making posts, polls and notifies from a block's columns
 *
 * Not here: which event is next (stream.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/read/stream_priv.h"
#include "core/wire/event.h"
#include "core/wire/log.h"

static int reserve_array(struct stream *s, void *memory, uint32_t *size, uint32_t count,
			 size_t bytes)
{
	void **at = memory, *more;

	if (count <= *size)
		return 0;
	more = realloc(*at, count * bytes * 2);
	if (!more)
		return log_err(-ENOMEM, "read an event");
	*at = more;
	*size = count * 2;
	stream_hold(s);
	return 0;
}

#define GET(s, name, family) block_get(&(s)->block, COLUMN_##name, (s)->walk.at[FAMILY_##family])

#define GET_FIELD(family, column, name, member, type, wire) to->name = (type)GET(s, column, family);

static void fill_rare_parts(struct stream *s, struct wr *to, unsigned int parts)
{
#define GET_PART(NAME, part)              \
	if (parts & WR_##NAME) {          \
		FIELDS_##NAME(GET_FIELD); \
	}
	EACH_SHOWN_PART(GET_PART);
#undef GET_PART
	if (parts & WR_ODD) {
		to->opcode = (int)GET(s, odd_opcode, ODD);
		to->send_flags = (uint32_t)GET(s, odd_flags, ODD);
		to->num_sge = (int)GET(s, odd_num_sge, ODD);
	}
}

static void fill_wr(struct stream *s, struct wr *to, bool receive)
{
	unsigned int parts = (unsigned int)GET(s, parts, WR);

	to->wr_id = GET(s, wr_id, WR);
	to->opcode = (int)GET(s, opcode, WR);
	to->send_flags = (uint32_t)GET(s, send_flags, WR);
	to->nsge = (uint32_t)GET(s, nsge, WR);
	to->num_sge = (int)to->nsge;
	to->imm = (uint32_t)GET(s, imm, WR);
	if (parts & ~WR_RDMA) {
		fill_rare_parts(s, to, parts);
	} else if (parts) {
		FIELDS_RDMA(GET_FIELD);
	}
	if (receive)
		to->opcode = -1;
}

/* Read the elements of all requests of the event, from the walk's place on. */
static int fill_sges(struct stream *s, uint32_t count)
{
	uint32_t at = s->walk.at[FAMILY_SGE];

	if (reserve_array(s, &s->sges, &s->sges_size, count, sizeof(*s->sges)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++, at++) {
#define GET_SGE(family, column, name, member, type, wire) \
	s->sges[i].name = (type)block_get(&s->block, COLUMN_##column, at);
		FIELDS_SGE(GET_SGE);
#undef GET_SGE
	}
	return 0;
}

int stream_post(struct stream *s, struct trace_event *event, uint32_t kind)
{
	uint32_t nwr = (uint32_t)GET(s, nwr, POST), nsge = 0;

	s->post = (struct post){ .verb = kind_verb(kind),
				 .handle = GET(s, post_handle, POST),
				 .ret = (int)GET(s, post_ret, POST),
				 .bad = (uint32_t)GET(s, post_bad, POST),
				 .nwr = nwr,
				 .stack = (uint32_t)GET(s, post_stack, POST) };
	if (reserve_array(s, &s->wrs, &s->wrs_size, nwr, sizeof(*s->wrs)))
		return -ENOMEM;
	for (uint32_t i = 0; i < nwr; i++)
		nsge += (uint32_t)block_get(&s->block, COLUMN_nsge, s->walk.at[FAMILY_WR] + i);
	if (fill_sges(s, nsge))
		return -ENOMEM;
	if (nwr)
		memset(s->wrs, 0, nwr * sizeof(*s->wrs)); /* all at once: most fields stay 0 */
	for (uint32_t i = 0, at = 0; i < nwr; i++) {
		fill_wr(s, &s->wrs[i], !post_is_send(&s->post));
		s->wrs[i].sge = nsge ? s->sges + at : NULL;
		at += s->wrs[i].nsge;
		walk_next_wr(&s->block, &s->walk);
	}
	s->post.wr = s->wrs;
	event->kind = TRACE_POST;
	event->post = &s->post;
	return 0;
}

static void fill_wc(struct stream *s, struct wc *to)
{
	FIELDS_WC(GET_FIELD);
	to->posted_at = -1;
}

static void fill_extra(struct stream *s, struct wc *to)
{
	FIELDS_EXTRA(GET_FIELD);
}

int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind)
{
	uint32_t nwc = (uint32_t)GET(s, nwc, POLL);

	s->poll = (struct poll){ .verb = kind_verb(kind & KIND_MASK),
				 .handle = GET(s, poll_handle, POLL),
				 .ret = (int)GET(s, poll_ret, POLL),
				 .empty = GET(s, empty, POLL),
				 .nwc = nwc,
				 .stack = (uint32_t)GET(s, poll_stack, POLL) };
	if (reserve_array(s, &s->wcs, &s->wcs_size, nwc, sizeof(*s->wcs)))
		return -ENOMEM;
	if (nwc)
		memset(s->wcs, 0, nwc * sizeof(*s->wcs));
	for (uint32_t i = 0; i < nwc; i++) {
		fill_wc(s, &s->wcs[i]);
		if (kind & KIND_EXTRA)
			fill_extra(s, &s->wcs[i]);
		walk_next_wc(&s->block, &s->walk);
	}
	s->poll.wc = s->wcs;
	event->kind = TRACE_POLL;
	event->poll = &s->poll;
	return 0;
}

void stream_notify(struct stream *s, struct trace_event *event)
{
	s->notify = (struct notify){ .handle = GET(s, notify_handle, NOTIFY),
				     .solicited_only = (int)GET(s, solicited, NOTIFY),
				     .ret = (int)GET(s, notify_ret, NOTIFY) };
	event->kind = TRACE_NOTIFY;
	event->notify = &s->notify;
}
