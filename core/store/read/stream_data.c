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

#define GET(s, name, family) \
	block_get(&(s)->block, COLUMN_##name, (s)->position.at[FAMILY_##family])

#define GET_FIELD(family, column, name, member, type, wire) to->name = (type)GET(s, column, family);

/* A member of a structure, and the column with its values. */
struct member {
	uint8_t column, size;
	uint16_t offset;
};

#define MEMBER(column, structure, name)                                                       \
	{                                                                                     \
		COLUMN_##column, sizeof(((structure *)NULL)->name), offsetof(structure, name) \
	}
#define MEMBER_OF_WC(family, column, name, member, type, wire)  MEMBER(column, struct wc, name),
#define MEMBER_OF_SGE(family, column, name, member, type, wire) MEMBER(column, struct sge, name),

static const struct member post_members[] = {
	MEMBER(post_handle, struct post, handle), MEMBER(post_ret, struct post, ret),
	MEMBER(post_bad, struct post, bad),       MEMBER(nwr, struct post, nwr),
	MEMBER(post_stack, struct post, stack),
};

static const struct member poll_members[] = {
	MEMBER(poll_handle, struct poll, handle), MEMBER(poll_ret, struct poll, ret),
	MEMBER(empty, struct poll, empty),        MEMBER(nwc, struct poll, nwc),
	MEMBER(poll_stack, struct poll, stack),
};

static const struct member wr_members[] = {
	MEMBER(wr_id, struct wr, wr_id),           MEMBER(opcode, struct wr, opcode),
	MEMBER(send_flags, struct wr, send_flags), MEMBER(nsge, struct wr, nsge),
	MEMBER(nsge, struct wr, num_sge),          MEMBER(imm, struct wr, imm),
};

static const struct member wc_members[] = { FIELDS_WC(MEMBER_OF_WC) };
static const struct member sge_members[] = { FIELDS_SGE(MEMBER_OF_SGE) };

/* Store a member. All members are little-endian numbers of 1 to 8 bytes. */
static inline void set_member(void *structure, unsigned int offset, unsigned int size,
			      uint64_t value)
{
	char *at = (char *)structure + offset;

	if (size == sizeof(uint64_t))
		memcpy(at, &value, sizeof(uint64_t));
	else if (size == sizeof(uint32_t))
		memcpy(at, &value, sizeof(uint32_t));
	else
		memcpy(at, &value, size);
}

/* Add a member to the list, which is sorted by size, the largest first, and ends with size 0. */
static void add_varying(struct template *t, const uint64_t *values, const struct member *member)
{
	struct varying_column *at = t->varying;

	while (at->size >= member->size)
		at++;
	memmove(at + 1, at, sizeof(t->varying) - sizeof(*at) * (size_t)(at + 1 - t->varying));
	*at = (struct varying_column){ values, member->offset, member->size };
}

static int note_members(struct block *block, struct template *t, const struct member *members,
			unsigned int n)
{
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		const struct column_view *view = &block->views[members[i].column];

		if (!view->count || (view->code == COLUMN_LINEAR && !view->step)) {
			set_member(&t->post, members[i].offset, members[i].size,
				   view->count ? view->base : 0);
			continue;
		}
		err = block_spread(block, members[i].column);
		add_varying(t, view->values, &members[i]);
	}
	return err;
}

static inline void set_varying_members(const struct template *t, uint32_t row, void *structure)
{
	const struct varying_column *v = t->varying;

	for (; v->size == sizeof(uint64_t); v++)
		memcpy((char *)structure + v->offset, &v->values[row], sizeof(uint64_t));
	for (; v->size == sizeof(uint32_t); v++)
		memcpy((char *)structure + v->offset, &v->values[row], sizeof(uint32_t));
	for (; v->size; v++)
		set_member(structure, v->offset, v->size, v->values[row]);
}

#define NOTE_MEMBERS(s, name)                                           \
	note_members(&(s)->block, &(s)->templates.name, name##_members, \
		     sizeof(name##_members) / sizeof(*name##_members))

int stream_note_block(struct stream *s)
{
	static const enum column_id of_events[] = { COLUMN_n, COLUMN_time, COLUMN_kind };
	const struct column_view *nsge = &s->block.views[COLUMN_nsge];
	int err = 0;

	_Static_assert(sizeof(wc_members) / sizeof(*wc_members) < VARYING_MAX,
		       "struct template: all may vary");
	for (int i = 0; i < 3 && !err; i++)
		err = block_spread(&s->block, of_events[i]);
	s->templates = (struct templates){ .wc.wc = { .posted_at = -1, .other_posted_at = -1 } };
	memset(s->last_events, 0, sizeof(s->last_events));
	if (!err)
		err = NOTE_MEMBERS(s, post) ?: NOTE_MEMBERS(s, poll);
	if (!err)
		err = NOTE_MEMBERS(s, wr) ?: NOTE_MEMBERS(s, sge);
	if (!err)
		err = NOTE_MEMBERS(s, wc);
	s->nsge_varies = !err && nsge->values;
	return err ? log_err(err, "read events") : 0;
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
static inline void fill_wr(struct stream *s, struct wr *to, bool receive)
{
	unsigned int parts = (unsigned int)GET(s, parts, WR);

	*to = s->templates.wr.wr;
	set_varying_members(&s->templates.wr, s->position.at[FAMILY_WR], to);
	if (parts & ~WR_RDMA) {
		fill_rare_parts(s, to, parts);
	} else if (parts) {
		FIELDS_RDMA(GET_FIELD);
	}
	block_skip_known_wr(&s->position, parts, to->nsge);
	if (receive)
		to->opcode = -1;
}

/* Read the elements of all requests of the event, from the iterator's position on. */
static inline void fill_sges(struct stream *s, struct sge *sges, uint32_t count)
{
	uint32_t at = s->position.at[FAMILY_SGE];

	for (uint32_t i = 0; i < count; i++) {
		sges[i] = s->templates.sge.sge;
		set_varying_members(&s->templates.sge, at + i, &sges[i]);
	}
}

/* The number of elements of the next @nwr requests. */
static inline uint32_t count_sges(const struct stream *s, uint32_t nwr)
{
	uint32_t nsge = 0;

	if (!s->nsge_varies)
		return nwr * s->templates.wr.wr.nsge;
	for (uint32_t i = 0; i < nwr; i++)
		nsge += (uint32_t)block_get(&s->block, COLUMN_nsge, s->position.at[FAMILY_WR] + i);
	return nsge;
}

static inline struct post *make_post(struct stream *s)
{
	struct post *post = s->room ? room_take(s->room, sizeof(*post)) : &s->post;

	if (!post)
		return NULL;
	*post = s->templates.post.post;
	set_varying_members(&s->templates.post, s->position.at[FAMILY_POST], post);
	return post;
}

static inline struct last_event *last_event_of(struct stream *s, uint32_t kind, uint64_t handle)
{
	return &s->last_events[(handle * 0x9e3779b97f4a7c15 >> 56 ^ kind) % LAST_EVENTS];
}

/* Are the members of rows @a and @b the same, except the one at @offset? */
static inline bool are_rows_same(const struct template *t, uint32_t a, uint32_t b, size_t offset)
{
	const struct varying_column *v = t->varying;

	while (v->size && (v->values[a] == v->values[b] || v->offset == offset))
		v++;
	return !v->size;
}

/* Is the current post, of one usual request, @last again? */
static inline bool repeats_post(const struct stream *s, const struct last_event *last,
				uint32_t kind)
{
	const struct templates *t = &s->templates;
	const uint32_t *at = s->position.at;

	if (last->kind != kind || GET(s, parts, WR) ||
	    !are_rows_same(&t->post, last->at, at[FAMILY_POST], SIZE_MAX) ||
	    !are_rows_same(&t->wr, last->part, at[FAMILY_WR], SIZE_MAX))
		return false;
	for (uint32_t i = 0; i < last->nsge; i++)
		if (!are_rows_same(&t->sge, last->sge + i, at[FAMILY_SGE] + i, SIZE_MAX))
			return false;
	return true;
}

/* Is the current poll @last again? */
static inline bool repeats_poll(const struct stream *s, const struct last_event *last,
				uint32_t kind)
{
	const struct templates *t = &s->templates;
	const uint32_t *at = s->position.at;

	if (last->kind != kind ||
	    !are_rows_same(&t->poll, last->at, at[FAMILY_POLL], offsetof(struct poll, empty)))
		return false;
	for (uint32_t i = 0; i < last->parts; i++)
		if (!are_rows_same(&t->wc, last->part + i, at[FAMILY_WC] + i, SIZE_MAX))
			return false;
	return true;
}

/*
 * Should the next event be compared with this one? The buffers of a program may take turns: then no
 * event is there again, and only some are compared.
 */
static inline bool is_worth_noting(struct last_event *last, bool again)
{
	enum { MISSES = 16, RETRY = 1024 };

	last->misses = again || last->misses == RETRY ? 0 : last->misses + 1;
	if (last->misses > MISSES)
		last->kind = 0;
	return last->misses <= MISSES;
}

static inline bool is_shared(const struct last_event *last, const struct room *room)
{
	return last->object && last->room == room && last->clears == room->clears;
}

/* Note the current post; @object: of the last one, if it is that again. */
static void note_last_post(struct stream *s, uint32_t kind, const struct post *post, uint32_t nsge,
			   uint32_t object)
{
	const uint32_t *at = s->position.at;

	*s->last_post = (struct last_event){
		.kind = post->nwr == 1 && !GET(s, parts, WR) ? kind : 0,
		.at = at[FAMILY_POST],
		.part = at[FAMILY_WR],
		.sge = at[FAMILY_SGE],
		.parts = post->nwr,
		.nsge = nsge,
		.post = post,
		.object = object,
		.room = s->room,
		.clears = s->room ? s->room->clears : 0,
		.misses = s->last_post->misses,
	};
}

int stream_replace_post(struct stream *s, struct trace_event *event, uint32_t object)
{
	struct post *post = room_take(s->room, sizeof(*post));

	if (!post)
		return log_err(-ENOMEM, "read an event");
	*post = *event->post;
	post->object = s->last_post->object = object;
	event->post = s->last_post->post = post;
	event->again = false;
	return 0;
}

static __attribute__((noinline)) int make_whole_post(struct stream *s, struct trace_event *event,
						     uint32_t kind)
{
	struct post *post = make_post(s);
	uint32_t nwr = post ? post->nwr : 0, nsge = count_sges(s, nwr);
	struct wr *wrs = reserve_elements(s, &s->wrs, &s->wrs_size, nwr, sizeof(*wrs));
	struct sge *sges =
		nsge ? reserve_elements(s, &s->sges, &s->sges_size, nsge, sizeof(*sges)) : NULL;

	if (!post || (nwr && !wrs) || (nsge && !sges))
		return log_err(-ENOMEM, "read an event");
	post->verb = kind_verb(kind & KIND_MASK);
	post->wr = wrs;
	if (is_worth_noting(s->last_post, event->again))
		note_last_post(s, kind, post, nsge, event->again ? s->last_post->object : 0);
	fill_sges(s, sges, nsge);
	for (uint32_t i = 0, next = 0; i < nwr; i++) {
		fill_wr(s, &wrs[i], !post_is_send(post));
		wrs[i].sge = nsge ? sges + next : NULL;
		next += wrs[i].nsge;
	}
	event->post = post;
	return 0;
}

int stream_post(struct stream *s, struct trace_event *event, uint32_t kind)
{
	struct last_event *last = last_event_of(s, kind, GET(s, post_handle, POST));

	s->last_post = last;
	event->kind = TRACE_POST;
	event->again = repeats_post(s, last, kind);
	if (!event->again || !s->room || !is_shared(last, s->room))
		return make_whole_post(s, event, kind);
	event->post = last->post;
	block_skip_known_wr(&s->position, 0, last->nsge);
	return 0;
}

static inline void fill_wc(struct stream *s, struct wc *to)
{
	*to = s->templates.wc.wc;
	set_varying_members(&s->templates.wc, s->position.at[FAMILY_WC], to);
}

static void fill_extra(struct stream *s, struct wc *to)
{
	FIELDS_EXTRA(GET_FIELD);
}

static inline struct poll *make_poll(struct stream *s)
{
	struct poll *poll = s->room ? room_take(s->room, sizeof(*poll)) : &s->poll;

	if (!poll)
		return NULL;
	*poll = s->templates.poll.poll;
	set_varying_members(&s->templates.poll, s->position.at[FAMILY_POLL], poll);
	return poll;
}

/* Note the current poll. */
static inline void note_last_poll(struct stream *s, struct last_event *last, uint32_t kind,
				  uint32_t nwc)
{
	*last = (struct last_event){ .kind = kind & KIND_EXTRA ? 0 : kind,
				     .at = s->position.at[FAMILY_POLL],
				     .part = s->position.at[FAMILY_WC],
				     .parts = nwc,
				     .misses = last->misses };
}

int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind)
{
	struct poll *poll = make_poll(s);
	uint32_t nwc = poll ? poll->nwc : 0;
	struct wc *wcs = reserve_elements(s, &s->wcs, &s->wcs_size, nwc, sizeof(*wcs));
	struct last_event *last;

	if (!poll || (nwc && !wcs))
		return log_err(-ENOMEM, "read an event");
	poll->verb = kind_verb(kind & KIND_MASK);
	poll->filled = kind & KIND_FILLED;
	poll->wc = wcs;
	last = last_event_of(s, kind, poll->handle);
	event->again = repeats_poll(s, last, kind);
	if (is_worth_noting(last, event->again) && !event->again)
		note_last_poll(s, last, kind, nwc);
	for (uint32_t i = 0; i < nwc; i++) {
		fill_wc(s, &wcs[i]);
		if (kind & KIND_EXTRA)
			fill_extra(s, &wcs[i]);
		block_skip_known_wc(&s->position, kind);
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
