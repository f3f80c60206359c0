/*
 * Joining the pieces of one thread's payloads into rows
 *
 * The pieces of a payload arrive in order; only a signal handler can write pieces of another
 * payload in between. The payload of a completion becomes a row after its last piece, a payload of
 * a request when the event of the post arrives.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/write/payloads.h"
#include "core/base/vec.h"
#include "core/wire/hash.h"
#include "core/wire/payload.h"

enum { OPEN_MAX = 8 };

#define WAITING_BYTES (1ull << 30)              /* more than the posts of a program can have */
#define STALE_BYTES   (2ull * PAYLOAD_CALL_MAX) /* above it, some posts must have been lost */

struct partial_payload {
	struct partial_payload *next;
	uint64_t object;
	uint32_t of;
	bool whole; /* the last piece has arrived */
	struct payload_row row;
	uint8_t *bytes;
	size_t size;
};

static void drop_waiting(struct payloads *p, struct partial_payload **at)
{
	struct partial_payload *w = *at;

	*at = w->next;
	p->waiting_bytes -= sizeof(*w) + w->row.bytes;
	free(w->bytes);
	free(w);
}

static int finish_payload(struct payloads *p, struct partial_payload *w)
{
	struct payload_row *row = &w->row;

	if (p->ready.nrows == PAYLOAD_ROWS_MAX) { /* more rows than one call can have */
		p->missed[PAYLOAD_LOST]++;
		return 0;
	}
	if (p->ready.used + row->bytes > PAYLOAD_BYTES_MAX) {
		w->whole = false;
		row->bytes = 0;
	}
	if (!w->whole)
		row->why = PAYLOAD_LOST;
	if (!row->hashed && row->total && row->bytes == row->total && row->bytes >= row->before) {
		row->hash = hash_of(w->bytes + row->before, row->bytes - row->before, p->seed);
		row->hashed = true;
	}
	if (row->why)
		p->missed[row->why]++;
	return payload_rows_add(&p->ready, row, w->bytes);
}

/* Does @e belong to the next request of the post of @newest? This is the usual case. */
static bool is_next(const struct partial_payload *newest, const struct event_payload *e)
{
	return newest && newest->object && newest->object == e->object && newest->of == e->of &&
	       newest->row.i < e->index;
}

static struct partial_payload **find_waiting(struct payloads *p, const struct event_payload *e)
{
	static struct partial_payload *none;
	struct partial_payload **at = is_next(p->waiting, e) ? &none : &p->waiting;

	while (*at && ((*at)->object != e->object || (*at)->of != e->of ||
		       (*at)->row.i != e->index || (*at)->row.kind != e->kind))
		at = &(*at)->next;
	return at;
}

/* Store payloads of completions whose last pieces will not arrive any more. */
static int finish_old_payloads(struct payloads *p, unsigned int keep)
{
	struct partial_payload **at = &p->waiting;
	unsigned int open = 0;
	int err = 0;

	while (*at && !err) {
		if ((*at)->object || ++open <= keep) {
			at = &(*at)->next;
			continue;
		}
		err = finish_payload(p, *at);
		drop_waiting(p, at);
	}
	return err;
}

/* Drop the oldest payloads that wait for posts: their posts were lost. */
static void drop_stale_payloads(struct payloads *p)
{
	while (p->waiting_bytes > STALE_BYTES) {
		struct partial_payload **last = &p->waiting;

		while ((*last)->next)
			last = &(*last)->next;
		p->missed[PAYLOAD_LOST]++;
		drop_waiting(p, last);
	}
}

static struct partial_payload *begin_payload(struct payloads *p, const struct event_payload *e,
					     uint64_t n, int64_t time)
{
	struct partial_payload *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->object = e->object;
	w->of = e->of;
	w->row = (struct payload_row){
		.i = e->index, .time = time, .kind = e->kind, .before = e->before, .total = e->total
	};
	if (!e->object)
		w->row.n = n - (uint32_t)(e->head.seq - e->of);
	w->next = p->waiting;
	p->waiting = w;
	p->waiting_bytes += sizeof(*w);
	return w;
}

static int add_bytes(struct payloads *p, struct partial_payload *w, const struct event_payload *e)
{
	size_t need = w->row.bytes + e->bytes;

	if (e->offset != w->row.bytes || !e->bytes)
		return 0; /* an earlier piece was dropped: a piece after a gap is useless */
	if (need > w->row.total || p->waiting_bytes + e->bytes > WAITING_BYTES)
		return -EBADMSG;
	if (vec_reserve(w->bytes, w->size, need))
		return -ENOMEM;
	memcpy(w->bytes + w->row.bytes, e + 1, e->bytes);
	w->row.bytes = need;
	p->waiting_bytes += e->bytes;
	return 0;
}

static bool is_sound(const struct event_payload *e)
{
	size_t bytes = e->head.words * 8u;

	return bytes >= sizeof(*e) && e->bytes <= bytes - sizeof(*e) && e->kind < PAYLOAD_KINDS &&
	       e->why < PAYLOAD_WHYS && e->index < EVENT_POST_WRS;
}

int payloads_add_piece(struct payloads *p, const struct event_payload *e, uint64_t n, int64_t time)
{
	struct partial_payload **at, *w;
	int err;

	if (!is_sound(e))
		return -EBADMSG;
	at = find_waiting(p, e);
	if (*at && ((*at)->whole || !e->offset)) /* inline data was set again */
		drop_waiting(p, at);
	at = find_waiting(p, e);
	if (!*at) {
		err = e->object ? 0 : finish_old_payloads(p, OPEN_MAX);
		drop_stale_payloads(p);
		if (err || !begin_payload(p, e, n, time))
			return err ? err : -ENOMEM;
		at = &p->waiting;
	}
	w = *at;
	err = add_bytes(p, w, e);
	if (err || !(e->flags & PAYLOAD_LAST))
		return err;
	w->whole = e->offset + e->bytes == w->row.bytes;
	w->row.why = e->why;
	w->row.hashed = e->flags & PAYLOAD_HASHED;
	w->row.hash = e->hash;
	if (w->object)
		return 0;
	err = finish_payload(p, w);
	drop_waiting(p, at);
	return err;
}

static int compare_indexes(const void *a, const void *b)
{
	const struct payload_row *x = a, *y = b;

	return x->i < y->i ? -1 : x->i > y->i;
}

int payloads_note_post(struct payloads *p, const struct event_post *event, uint64_t n)
{
	bool carries = event->head.flags & EVENT_CARRIES, any = false;
	struct partial_payload **at = &p->waiting;
	size_t first = p->ready.nrows;
	uint32_t of = 0;
	int err = 0;

	while (*at && !err) {
		struct partial_payload *w = *at;

		if (w->object != event->object) {
			at = &w->next;
			continue;
		}
		if (!any)
			of = w->of; /* the newest payloads belong to this post */
		any = true;
		w->row.n = n;
		if (carries && w->of == of)
			err = finish_payload(p, w);
		drop_waiting(p, at);
	}
	if (p->ready.nrows > first + 1)
		qsort(&p->ready.rows[first], p->ready.nrows - first, sizeof(*p->ready.rows),
		      compare_indexes);
	return err;
}

int payloads_end(struct payloads *p)
{
	return finish_old_payloads(p, 0);
}

void payloads_fini(struct payloads *p)
{
	while (p->waiting)
		drop_waiting(p, &p->waiting);
	payload_rows_fini(&p->ready);
}
