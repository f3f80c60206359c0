/*
 * The model's memory: bytes, and which of them are known
 *
 * A message's bytes may reach the receiver's buffers at any time until its completion is polled.
 * Until then they belong to the delivery: any other write there makes them unknown, and so is data
 * read from there.
 */
#include "tests/shim/soft/model/model.h"

#include <stdlib.h>
#include <string.h>

uint64_t model_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void write_byte(struct model *m, int proc, uint32_t off, uint8_t byte, bool unknown)
{
	int32_t *owner = &m->owner[proc][off];

	if (*owner > 0 || *owner == BYTE_CONTESTED) {
		*owner = BYTE_CONTESTED;
		return;
	}
	*owner = unknown ? BYTE_UNKNOWN : BYTE_KNOWN;
	m->bytes[proc][off] = byte;
}

void memory_fill(struct model *m, int proc, uint32_t off, uint32_t len, uint64_t seed)
{
	uint64_t word = 0;
	uint32_t i;

	for (i = 0; i < len; i++) {
		if (i % 8 == 0)
			word = model_random(&seed);
		write_byte(m, proc, off + i, word >> i % 8 * 8, false);
	}
}

struct payload memory_gather(struct model *m, struct where from, uint32_t len)
{
	struct payload p = { .len = len, .bytes = malloc(len + 1), .unknown = malloc(len + 1) };
	const struct piece *piece;
	uint32_t n, i, at = 0;
	int k;

	for (k = 0; k < from.num && at < len; k++) {
		piece = &from.piece[k];
		n = piece->len < len - at ? piece->len : len - at;
		for (i = 0; i < n; i++, at++) {
			p.bytes[at] = m->bytes[from.proc][piece->off + i];
			p.unknown[at] = !model_knows(m, from.proc, piece->off + i);
		}
	}
	return p;
}

static bool pieces_overlap(const struct piece *a, const struct piece *b)
{
	return a->off < b->off + b->len && b->off < a->off + a->len;
}

bool memory_overlaps(struct where a, struct where b)
{
	int i, k;

	if (a.proc != b.proc)
		return false;
	for (i = 0; i < a.num; i++)
		for (k = 0; k < b.num; k++)
			if (pieces_overlap(&a.piece[i], &b.piece[k]))
				return true;
	return false;
}

/* Is a byte written twice? Then the result would depend on the order. */
static bool overlaps_itself(struct where w)
{
	int i, k;

	for (i = 0; i < w.num; i++)
		for (k = 0; k < i; k++)
			if (pieces_overlap(&w.piece[i], &w.piece[k]))
				return true;
	return false;
}

struct payload payload_copy(const struct payload *p)
{
	struct payload copy = { .len = p->len,
				.bytes = malloc(p->len + 1),
				.unknown = malloc(p->len + 1) };

	memcpy(copy.bytes, p->bytes, p->len);
	memcpy(copy.unknown, p->unknown, p->len);
	return copy;
}

void payload_forget(struct payload *p)
{
	memset(p->unknown, 1, p->len);
}

void payload_free(struct payload *p)
{
	free(p->bytes);
	free(p->unknown);
	memset(p, 0, sizeof(*p));
}

typedef void byte_fn(struct model *m, int proc, uint32_t off, uint8_t byte, bool unknown,
		     int delivery);

static void each_byte(struct model *m, struct where to, const struct payload *p, byte_fn *fn,
		      int delivery)
{
	bool unclear = overlaps_itself(to);
	uint32_t i, at = 0;
	int k;

	for (k = 0; k < to.num; k++)
		for (i = 0; i < to.piece[k].len && at < p->len; i++, at++)
			fn(m, to.proc, to.piece[k].off + i, p->bytes[at], p->unknown[at] || unclear,
			   delivery);
}

static void scatter_byte(struct model *m, int proc, uint32_t off, uint8_t byte, bool unknown,
			 int delivery)
{
	(void)delivery;
	write_byte(m, proc, off, byte, unknown);
}

void memory_scatter(struct model *m, struct where to, const struct payload *p)
{
	each_byte(m, to, p, scatter_byte, 0);
}

static void claim_byte(struct model *m, int proc, uint32_t off, uint8_t byte, bool unknown,
		       int delivery)
{
	int32_t *owner = &m->owner[proc][off];

	(void)byte;
	(void)unknown;
	*owner = *owner == BYTE_KNOWN || *owner == BYTE_UNKNOWN ? delivery : BYTE_CONTESTED;
}

static struct where find_buffers(int proc, const struct model_wc *wc)
{
	return (struct where){ proc, wc->where.sge, wc->where.num_sge };
}

void memory_deliver(struct model *m, struct model_wc *wc)
{
	wc->delivery = ++m->deliveries;
	each_byte(m, find_buffers(m->qp[wc->wc.qp].proc, wc), &wc->payload, claim_byte,
		  wc->delivery);
}

static void land_byte(struct model *m, int proc, uint32_t off, uint8_t byte, bool unknown,
		      int delivery)
{
	if (m->owner[proc][off] != delivery)
		return;
	m->owner[proc][off] = unknown ? BYTE_UNKNOWN : BYTE_KNOWN;
	m->bytes[proc][off] = byte;
}

void memory_land(struct model *m, int proc, struct model_wc *wc)
{
	if (wc->delivery)
		each_byte(m, find_buffers(proc, wc), &wc->payload, land_byte, wc->delivery);
	payload_free(&wc->payload);
}
