/*
 * Creating posts, polls and notifies from a block's columns
 *
 * Not here: which event is next (stream.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/read/stream_priv.h"
#include "core/wire/event.h"
#include "core/wire/log.h"

void stream_count_held(struct stream *s)
{
	size_t now = block_bytes(&s->block) + s->wrs_size * sizeof(*s->wrs) +
		     s->sges_size * sizeof(*s->sges) + s->wcs_size * sizeof(*s->wcs) +
		     call_block_bytes(&s->blocks.block);

	*s->held += now - s->own;
	s->own = now;
}

static int reserve_array(struct stream *s, void *memory, uint32_t *size, uint32_t count,
			 size_t bytes)
{
	void **at = memory, *more;

	if (count <= *size)
		return 0;
	more = realloc(*at, count * bytes * 2);
	if (!more)
		return -ENOMEM;
	*at = more;
	*size = count * 2;
	stream_count_held(s);
	return 0;
}

/*
 * Memory for @count elements of an event: in s->room, or if that is NULL in an array of the stream.
 */
static inline void *reserve_elements(struct stream *s, void *memory, uint32_t *size, uint32_t count,
				     size_t bytes)
{
	if (s->room)
		return room_take(s->room, count * bytes);
	return reserve_array(s, memory, size, count, bytes) ? NULL : *(void **)memory;
}

#define GET(s, name, family) block_get(&(s)->block, COLUMN_##name, (s)->walk.at[FAMILY_##family])

#define GET_FIELD(family, column, name, member, type, wire) to->name = (type)GET(s, column, family);

static const struct varying wc_members[] = {
#define MEMBER_OF_WC(family, column, name, member, type, wire) \
	{ COLUMN_##column, sizeof(type), offsetof(struct wc, name) },
	FIELDS_WC(MEMBER_OF_WC)
#undef MEMBER_OF_WC
};

static const struct varying wr_members[] = {
	{ COLUMN_wr_id, sizeof(uint64_t), offsetof(struct wr, wr_id) },
	{ COLUMN_opcode, sizeof(int), offsetof(struct wr, opcode) },
	{ COLUMN_send_flags, sizeof(uint32_t), offsetof(struct wr, send_flags) },
	{ COLUMN_nsge, sizeof(uint32_t), offsetof(struct wr, nsge) },
	{ COLUMN_nsge, sizeof(int), offsetof(struct wr, num_sge) },
	{ COLUMN_imm, sizeof(uint32_t), offsetof(struct wr, imm) },
};

/* Store a member. All members are little-endian numbers of 1 to 8 bytes. */
static inline void set_member(void *structure, const struct varying *v, uint64_t value)
{
	char *at = (char *)structure + v->offset;

	if (v->size == sizeof(uint64_t))
		memcpy(at, &value, sizeof(uint64_t));
	else if (v->size == sizeof(uint32_t))
		memcpy(at, &value, sizeof(uint32_t));
	else
		memcpy(at, &value, v->size);
}

static void note_members(const struct block *block, struct template *t, void *structure,
			 const struct varying *members, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct column_view *view = &block->views[members[i].column];

		if (!view->count || (view->code == COLUMN_LINEAR && !view->step))
			set_member(structure, &members[i], view->count ? view->base : 0);
		else
			t->varying[t->nvarying++] = members[i];
	}
}

static inline void set_varying_members(const struct stream *s, const struct template *t,
				       uint32_t row, void *structure)
{
	for (unsigned int i = 0; i < t->nvarying; i++)
		set_member(structure, &t->varying[i],
			   block_get(&s->block, t->varying[i].column, row));
}

void stream_note_block(struct stream *s)
{
	enum { WC = sizeof(wc_members) / sizeof(*wc_members) };
	enum { WR = sizeof(wr_members) / sizeof(*wr_members) };

	_Static_assert(WC <= sizeof(s->wc_template.varying) / sizeof(*s->wc_template.varying),
		       "struct template: all may vary");
	s->wc_template = (struct template){ .wc = { .posted_at = -1 } };
	note_members(&s->block, &s->wc_template, &s->wc_template.wc, wc_members, WC);
	s->wr_template = (struct template){ .nvarying = 0 };
	note_members(&s->block, &s->wr_template, &s->wr_template.wr, wr_members, WR);
}

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

/* Create the current request in @to, and skip it. */
static void fill_wr(struct stream *s, struct wr *to, bool receive)
{
	unsigned int parts = (unsigned int)GET(s, parts, WR);

	*to = s->wr_template.wr;
	set_varying_members(s, &s->wr_template, s->walk.at[FAMILY_WR], to);
	if (parts & ~WR_RDMA) {
		fill_rare_parts(s, to, parts);
	} else if (parts) {
		FIELDS_RDMA(GET_FIELD);
	}
	walk_past_wr(&s->walk, parts, to->nsge);
	if (receive)
		to->opcode = -1;
}

/* Read the elements of all requests of the event, from the iterator's position on. */
static void fill_sges(struct stream *s, struct sge *sges, uint32_t count)
{
	uint32_t at = s->walk.at[FAMILY_SGE];

	for (uint32_t i = 0; i < count; i++, at++) {
#define GET_SGE(family, column, name, member, type, wire) \
	sges[i].name = (type)block_get(&s->block, COLUMN_##column, at);
		FIELDS_SGE(GET_SGE);
#undef GET_SGE
	}
}

static struct sge *reserve_sges(struct stream *s, uint32_t nwr, uint32_t *ret_nsge)
{
	uint32_t nsge = 0;

	for (uint32_t i = 0; i < nwr; i++)
		nsge += (uint32_t)block_get(&s->block, COLUMN_nsge, s->walk.at[FAMILY_WR] + i);
	*ret_nsge = nsge;
	return nsge ? reserve_elements(s, &s->sges, &s->sges_size, nsge, sizeof(*s->sges)) : NULL;
}

int stream_post(struct stream *s, struct trace_event *event, uint32_t kind)
{
	uint32_t nwr = (uint32_t)GET(s, nwr, POST), nsge;
	struct post *post = s->room ? room_take(s->room, sizeof(*post)) : &s->post;
	struct wr *wrs = reserve_elements(s, &s->wrs, &s->wrs_size, nwr, sizeof(*wrs));
	struct sge *sges = reserve_sges(s, nwr, &nsge);

	if (!post || (nwr && !wrs) || (nsge && !sges))
		return log_err(-ENOMEM, "read an event");
	*post = (struct post){ .verb = kind_verb(kind),
			       .handle = GET(s, post_handle, POST),
			       .ret = (int)GET(s, post_ret, POST),
			       .bad = (uint32_t)GET(s, post_bad, POST),
			       .nwr = nwr,
			       .stack = (uint32_t)GET(s, post_stack, POST),
			       .wr = wrs };
	fill_sges(s, sges, nsge);
	for (uint32_t i = 0, at = 0; i < nwr; i++) {
		fill_wr(s, &wrs[i], !post_is_send(post));
		wrs[i].sge = nsge ? sges + at : NULL;
		at += wrs[i].nsge;
	}
	event->kind = TRACE_POST;
	event->post = post;
	return 0;
}

static void fill_wc(struct stream *s, struct wc *to)
{
	*to = s->wc_template.wc;
	set_varying_members(s, &s->wc_template, s->walk.at[FAMILY_WC], to);
}

static void fill_extra(struct stream *s, struct wc *to)
{
	FIELDS_EXTRA(GET_FIELD);
}

int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind)
{
	uint32_t nwc = (uint32_t)GET(s, nwc, POLL);
	struct poll *poll = s->room ? room_take(s->room, sizeof(*poll)) : &s->poll;
	struct wc *wcs = reserve_elements(s, &s->wcs, &s->wcs_size, nwc, sizeof(*wcs));

	if (!poll || (nwc && !wcs))
		return log_err(-ENOMEM, "read an event");
	*poll = (struct poll){ .verb = kind_verb(kind & KIND_MASK),
			       .handle = GET(s, poll_handle, POLL),
			       .ret = (int)GET(s, poll_ret, POLL),
			       .empty = GET(s, empty, POLL),
			       .nwc = nwc,
			       .stack = (uint32_t)GET(s, poll_stack, POLL),
			       .wc = wcs };
	for (uint32_t i = 0; i < nwc; i++) {
		fill_wc(s, &wcs[i]);
		if (kind & KIND_EXTRA)
			fill_extra(s, &wcs[i]);
		walk_past_wc(&s->walk, kind);
	}
	event->kind = TRACE_POLL;
	event->poll = poll;
	return 0;
}

int stream_notify(struct stream *s, struct trace_event *event)
{
	struct notify *notify = s->room ? room_take(s->room, sizeof(*notify)) : &s->notify;

	if (!notify)
		return log_err(-ENOMEM, "read an event");
	*notify = (struct notify){ .handle = GET(s, notify_handle, NOTIFY),
				   .solicited_only = (int)GET(s, solicited, NOTIFY),
				   .ret = (int)GET(s, notify_ret, NOTIFY) };
	event->kind = TRACE_NOTIFY;
	event->notify = notify;
	return 0;
}
