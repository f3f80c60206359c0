/*
 * Contents of messages, as they were recorded
 *
 *	post of a send    recorded bytes -> the buffers here
 *	post of a receive where its buffers are: noted with the request
 *	completion        the buffers here = recorded bytes?
 *
 * Received bytes are compared only if the sender, too, sent the recorded bytes,
 * which is known on reliable connections. A trace does not contain what a program
 * wrote into its memory without a verb, so what was read from there remotely is
 * not compared.
 */
#include "replay/contents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/payload.h"
#include "replay/made.h"
#include "replay/state.h"
#include "replay/translate.h"

struct span {
	const uint8_t *at;
	uint64_t length;
};

/* Where a receive lands. */
struct landing {
	uint32_t nspans;
	uint32_t next_free; /* of an entry that is not used */
	struct span *spans; /* NULL: not used */
};

struct contents {
	struct landing *landings; /* from 1 */
	uint32_t nlandings, size, free;
	uint8_t *inlined; /* of the list that is being posted */
	size_t inlined_used, inlined_size;
	int err;
};

int contents_init(struct replay *r)
{
	const char *mode = trace_meta(r->trace, "payload");

	/* hashes alone cannot be sent */
	if (!trace_has_payloads(r->trace) || (mode && !strcmp(mode, "hash")))
		return 0;
	r->contents = calloc(1, sizeof(*r->contents));
	return r->contents ? 0 : -ENOMEM;
}

void contents_fini(struct replay *r)
{
	struct contents *p = r->contents;

	if (!p)
		return;
	for (uint32_t i = 0; i < p->nlandings; i++)
		free(p->landings[i].spans);
	free(p->landings);
	free(p->inlined);
	free(p);
	r->contents = NULL;
}

static bool is_inline(const struct wr *wr)
{
	return wr->opcode >= 0 && wr->send_flags & IBV_SEND_INLINE;
}

static uint64_t bytes_of(const struct wr *wr)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		bytes += wr->sge[i].length;
	return bytes;
}

int contents_begin(struct replay *r, const struct post *post)
{
	struct contents *p = r->contents;
	uint64_t need = 0;
	uint8_t *more;

	for (uint32_t i = 0; p && i < post->nwr; i++)
		need += is_inline(&post->wr[i]) ? bytes_of(&post->wr[i]) : 0;
	if (!need)
		return 0;
	p->inlined_used = 0;
	if (need <= p->inlined_size || need > PAYLOAD_CALL_MAX) /* no device accepts it */
		return 0;
	more = realloc(p->inlined, need);
	if (!more)
		return -ENOMEM;
	p->inlined = more;
	p->inlined_size = need;
	return 0;
}

/* Copy one element's part of the recorded bytes; the rest stays as it is. */
static void fill_one(struct replay *r, uint32_t process, const struct sge *there,
		     struct ibv_sge *here, bool inlined, const uint8_t *bytes, uint64_t n)
{
	struct contents *p = r->contents;
	void *at = NULL;

	if (!inlined) {
		at = translate_host(r, process, there->addr, there->length, there->lkey);
	} else if (there->length <= p->inlined_size - p->inlined_used) {
		at = p->inlined + p->inlined_used;
		p->inlined_used += there->length;
		memset(at, 0, there->length);
		here->addr = (uintptr_t)at;
	}
	if (at && n)
		memcpy(at, bytes, n);
}

int contents_fill(struct replay *r, const struct trace_event *event, uint32_t i,
		  struct ibv_sge *sges)
{
	const struct wr *wr = &event->post->wr[i];
	struct payload payload;
	uint64_t at = 0;
	int found = r->contents ? trace_payload(r->trace, event->id, i, &payload) : 0;

	for (uint32_t k = 0; found > 0 && k < wr->nsge && at < payload.nbytes; k++) {
		uint64_t left = payload.nbytes - at, n = wr->sge[k].length;

		n = n < left ? n : left;
		fill_one(r, event->process, &wr->sge[k], &sges[k], is_inline(wr),
			 (const uint8_t *)payload.bytes + at, n);
		at += n;
	}
	return found < 0 ? found : 0;
}

static uint32_t new_landing(struct contents *p)
{
	uint32_t i = p->free;

	if (i) {
		p->free = p->landings[i].next_free;
		return i;
	}
	if (p->nlandings == p->size) {
		uint32_t size = p->size ? p->size * 2 : 64;
		struct landing *more = reallocarray(p->landings, size, sizeof(*more));

		if (!more)
			return 0;
		p->landings = more;
		p->size = size;
	}
	if (!p->nlandings) /* 0 is none */
		p->landings[p->nlandings++] = (struct landing){ 0 };
	p->landings[p->nlandings] = (struct landing){ 0 };
	return p->nlandings++;
}

static void free_landing(struct contents *p, uint32_t i)
{
	free(p->landings[i].spans);
	p->landings[i] = (struct landing){ .next_free = p->free };
	p->free = i;
}

uint32_t contents_landing(struct replay *r, uint32_t process, const struct wr *wr)
{
	uint32_t i = r->contents && wr->nsge ? new_landing(r->contents) : 0;
	struct landing *landing = i ? &r->contents->landings[i] : NULL;

	if (!landing)
		return 0;
	landing->spans = calloc(wr->nsge, sizeof(*landing->spans));
	for (uint32_t k = 0; landing->spans && k < wr->nsge; k++, landing->nspans++) {
		const struct sge *sge = &wr->sge[k];
		const void *at = translate_host(r, process, sge->addr, sge->length, sge->lkey);

		if (!at)
			break;
		landing->spans[k] = (struct span){ at, sge->length };
	}
	return i;
}

/* The index of the first of @n bytes that differs, or @n; *@ret_here: our byte. */
static uint64_t compare_bytes(const struct landing *landing, const uint8_t *bytes, uint64_t n,
			      uint8_t *ret_here)
{
	uint64_t at = 0;

	for (uint32_t k = 0; k < landing->nspans && at < n; k++) {
		const struct span *span = &landing->spans[k];

		for (uint64_t i = 0; i < span->length && at < n; i++, at++) {
			*ret_here = span->at[i];
			if (span->at[i] != bytes[at])
				return at;
		}
	}
	return n; /* bytes outside our buffers are not known */
}

static void report_difference(struct replay *r, const struct trace_event *event, uint32_t i,
			      const struct arrival *arrival, uint64_t at,
			      const struct payload *payload, uint8_t here)
{
	char field[40], there_text[80], here_text[16];

	snprintf(field, sizeof(field), "wc[%u].payload", i);
	snprintf(there_text, sizeof(there_text), "byte %" PRIu64 " of %" PRIu64 " is 0x%02x", at,
		 payload->total, ((const uint8_t *)payload->bytes)[at]);
	snprintf(here_text, sizeof(here_text), "0x%02x", here);
	outcome_divergence(r->outcome, &(struct divergence){ .event = event->id,
							     .verb = VERB_poll_cq,
							     .field = field,
							     .recorded = there_text,
							     .replayed = here_text,
							     .about = arrival->request.event,
							     .sender = arrival->sender,
							     .object = event->poll->wc[i].qp });
}

/* How much of the message was sent as it was recorded. */
static int64_t sent_bytes(struct replay *r, const struct arrival *arrival, uint32_t qp)
{
	struct payload sent;
	int found;

	if (made_has(r, qp)) /* which sends what was received */
		return INT64_MAX;
	if (!arrival->sender.thread)
		return 0;
	found = trace_payload(r->trace, arrival->sender, arrival->sender_index, &sent);
	return found > 0 ? (int64_t)sent.nbytes : found;
}

static int check_landing(struct replay *r, const struct trace_event *event, uint32_t i,
			 const struct arrival *arrival)
{
	int64_t sent = sent_bytes(r, arrival, event->poll->wc[i].qp);
	struct payload payload;
	uint64_t n, at;
	uint8_t here = 0;
	int found = sent > 0 ? trace_payload(r->trace, event->id, i, &payload) : (int)sent;

	if (found <= 0)
		return found;
	n = payload.nbytes < (uint64_t)sent ? payload.nbytes : (uint64_t)sent;
	if (!n || payload.before)
		return 0;
	outcome_count(r->outcome, OUTCOME_PAYLOADS, 1);
	at = compare_bytes(&r->contents->landings[arrival->request.landing], payload.bytes, n,
			   &here);
	if (at < n)
		report_difference(r, event, i, arrival, at, &payload, here);
	return 0;
}

void contents_check(struct replay *r, const struct trace_event *event, uint32_t i,
		    const struct arrival *arrival)
{
	uint32_t landing = arrival->request.landing;
	int err = 0;

	if (!r->contents || !landing)
		return;
	if (arrival->wc.status == IBV_WC_SUCCESS && arrival->wc.opcode == IBV_WC_RECV &&
	    event->poll->wc[i].status == IBV_WC_SUCCESS)
		err = check_landing(r, event, i, arrival);
	free_landing(r->contents, landing);
	if (err < 0)
		r->contents->err = err;
}

int contents_error(const struct replay *r)
{
	return r->contents ? r->contents->err : 0;
}
