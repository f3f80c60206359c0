/*
 * Recorded contents of messages
 *
 *	post of a send    recorded bytes -> the replay's buffers
 *	post of a receive its buffers are noted with the request
 *	completion        the replay's buffers = recorded bytes?
 *
 * Received bytes are compared only if the sender, too, sent the recorded bytes. If the recorder
 * could not determine which request a message consumed, the sent bytes are used as the expected
 * bytes. A buffer that was posted again later is not compared if another message may be in it.
 *
 * Not here: data fetched by reads and atomics (fetched.c).
 */
#include "replay/data/contents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/operation.h"
#include "core/wire/payload.h"
#include "replay/data/fetched.h"
#include "replay/data/refilled.h"
#include "replay/synth/synth.h"
#include "replay/process/process.h"
#include "replay/state/sent.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"

static const char refilled[] = "a message at a shared receive queue, with a buffer that was "
			       "reused before the comparison";
static const char reposted[] =
	"a message in a buffer of a shared receive queue that was posted again before the "
	"comparison";

struct span {
	const uint8_t *at;
	uint64_t length;
};

/* The buffers of a receive. */
struct receive_memory {
	uint32_t nspans;
	uint32_t next_free; /* if unused: the next unused entry */
	struct span *spans; /* NULL: not used */
	uint32_t place;     /* for a read or atomic: fetched.h */
	uint32_t process;   /* the process that posted the receive */
};

struct contents {
	struct receive_memory *landings; /* from 1 */
	uint32_t nlandings, size, free;
	struct map latest; /* address of a buffer, to the landing of its last post */
	struct fetched_data *fetched;
	struct refilled *refilled;
	uint8_t *inlined; /* of the list being posted */
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
	if (!r->contents || fetched_new(&r->contents->fetched))
		return -ENOMEM;
	return refilled_new(&r->contents->refilled);
}

void contents_fini(struct replay *r)
{
	struct contents *p = r->contents;

	if (!p)
		return;
	for (uint32_t i = 0; i < p->nlandings; i++)
		free(p->landings[i].spans);
	free(p->landings);
	map_fini(&p->latest);
	fetched_free(p->fetched);
	refilled_free(p->refilled);
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

/* Copy the recorded bytes of one SGE to the replay's buffer; its other bytes are unchanged. */
static void fill_element(struct replay *r, uint32_t process, const struct sge *there,
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
	if (at && n && inlined)
		memcpy(at, bytes, n);
	else if (at && n)
		process_write(process, at, bytes, n);
}

/* Note a message for refilled.h if its receive queue is shared: it may be sent later. */
static int note_refill(struct replay *r, const struct trace_event *event, uint32_t i)
{
	const struct replica *from = replica_of(r, event->post->object);
	const struct replica *to = from && from->qp ? replica_of(r, from->qp->peer) : NULL;
	const struct wr *wr = &event->post->wr[i];
	const void *at;

	if (!to || !to->qp || !to->qp->shared || !wr->nsge || is_inline(wr))
		return 0;
	sent_remove_counted_of(r, from->qp);
	at = translate_host(r, event->process, wr->sge[0].addr, wr->sge[0].length, wr->sge[0].lkey);
	return at ? refilled_note(r->contents->refilled, at, (struct refill){ event->id, i },
				  from->qp)
		  : 0;
}

int contents_fill(struct replay *r, const struct trace_event *event, uint32_t i,
		  struct ibv_sge *sges)
{
	const struct wr *wr = &event->post->wr[i];
	struct payload payload;
	uint64_t at = 0;
	int found = r->contents ? trace_payload(r->trace, event->id, i, &payload) : 0;

	if (found > 0 && note_refill(r, event, i))
		return -ENOMEM;
	for (uint32_t k = 0; found > 0 && k < wr->nsge && at < payload.nbytes; k++) {
		uint64_t left = payload.nbytes - at, n = wr->sge[k].length;

		n = n < left ? n : left;
		fill_element(r, event->process, &wr->sge[k], &sges[k], is_inline(wr),
			     (const uint8_t *)payload.bytes + at, n);
		at += n;
	}
	return found < 0 ? found : 0;
}

static uint32_t new_receive_memory(struct contents *p)
{
	uint32_t i = p->free;

	if (i) {
		p->free = p->landings[i].next_free;
		return i;
	}
	if (p->nlandings == p->size) {
		uint32_t size = p->size ? p->size * 2 : 64;
		struct receive_memory *more = reallocarray(p->landings, size, sizeof(*more));

		if (!more)
			return 0;
		p->landings = more;
		p->size = size;
	}
	if (!p->nlandings) /* 0 is none */
		p->landings[p->nlandings++] = (struct receive_memory){ 0 };
	p->landings[p->nlandings] = (struct receive_memory){ 0 };
	return p->nlandings++;
}

static void free_receive_memory(struct contents *p, uint32_t i)
{
	free(p->landings[i].spans);
	p->landings[i] = (struct receive_memory){ .next_free = p->free };
	p->free = i;
}

uint32_t contents_note_buffers(struct replay *r, uint32_t process, const struct wr *wr)
{
	uint32_t i = r->contents && wr->nsge ? new_receive_memory(r->contents) : 0;
	struct receive_memory *landing = i ? &r->contents->landings[i] : NULL;

	if (!landing)
		return 0;
	landing->process = process;
	landing->spans = calloc(wr->nsge, sizeof(*landing->spans));
	for (uint32_t k = 0; landing->spans && k < wr->nsge; k++, landing->nspans++) {
		const struct sge *sge = &wr->sge[k];
		const void *at = translate_host(r, process, sge->addr, sge->length, sge->lkey);

		if (!at)
			break;
		landing->spans[k] = (struct span){ at, sge->length };
	}
	if (landing->nspans && map_put(&r->contents->latest, (uintptr_t)landing->spans[0].at, i))
		r->contents->err = -ENOMEM;
	return i;
}

uint32_t contents_fetch(struct replay *r, const struct trace_event *event, const struct wr *wr,
			const struct replica_qp *qp)
{
	uint32_t i;

	if (!r->contents || !operation_reads(wr->opcode))
		return 0;
	i = contents_note_buffers(r, event->process, wr);
	if (i && fetched_post(r->contents->fetched, wr, qp, &r->contents->landings[i].place))
		r->contents->err = -ENOMEM;
	return i;
}

static bool was_buffer_reposted(struct replay *r, uint32_t i)
{
	const struct receive_memory *landing = &r->contents->landings[i];
	uint64_t latest;

	return landing->nspans &&
	       map_get(&r->contents->latest, (uintptr_t)landing->spans[0].at, &latest) &&
	       latest != i;
}

/* The index of the first differing byte from @from to @n, or @n; *@ret_here: the replayed byte. */
static uint64_t compare_bytes(const struct receive_memory *landing, const uint8_t *bytes,
			      uint64_t from, uint64_t n, uint8_t *ret_here)
{
	uint64_t at = 0;

	for (uint32_t k = 0; k < landing->nspans && at < n; k++) {
		const struct span *span = &landing->spans[k];

		uint64_t length = span->length < n - at ? span->length : n - at;

		for (uint64_t done = 0, part; done < length; done += part) {
			uint8_t here[4096];

			part = length - done < sizeof(here) ? length - done : sizeof(here);
			process_read(landing->process, here, span->at + done, part);
			for (uint64_t i = 0; i < part; i++, at++) {
				*ret_here = here[i];
				if (at >= from && here[i] != bytes[at])
					return at;
			}
		}
	}
	return n; /* bytes outside the replay's buffers are not known */
}

/* A completion whose bytes are compared. */
struct contents_check {
	struct replay *r;
	const struct trace_event *event;
	const struct wc *wc;
	uint32_t i;
	const struct arrival *arrival;
	const struct receive_memory *landing;
};

static void report_difference(const struct contents_check *c, uint64_t at,
			      const struct payload *payload, uint8_t there, uint8_t here)
{
	char field[40], there_text[80], here_text[16];

	snprintf(field, sizeof(field), "wc[%u].payload", c->i);
	snprintf(there_text, sizeof(there_text), "byte %" PRIu64 " of %" PRIu64 " is 0x%02x", at,
		 payload->total, there);
	snprintf(here_text, sizeof(here_text), "0x%02x", here);
	outcome_add_divergence(c->r->outcome,
			       &(struct divergence){ .event = c->event->id,
						     .verb = VERB_poll_cq,
						     .field = field,
						     .recorded = there_text,
						     .replayed = here_text,
						     .about = c->arrival->request.event,
						     .sender = c->arrival->sender,
						     .object = c->wc->qp });
}

/* Find the sent bytes: 1 and *@ret_sent; 0: not recorded; or -errno. */
static int find_sent(const struct contents_check *c, struct payload *ret_sent)
{
	if (!c->arrival->sender.thread)
		return 0;
	return trace_payload(c->r->trace, c->arrival->sender, c->arrival->sender_index, ret_sent);
}

/*
 * Were the recorded received bytes equal to the posted ones? If so, a byte that differs in the
 * replay must be reported.
 */
static bool was_received_as_posted(const struct contents_check *c, const uint8_t *bytes, uint64_t n)
{
	struct payload sent;

	return find_sent(c, &sent) > 0 &&
	       !memcmp(bytes, sent.bytes, sent.nbytes < n ? sent.nbytes : n);
}

/* Do the @n replayed bytes belong to a message that replaced this one before it was sent? */
static bool is_refilled(const struct contents_check *c, const uint8_t *bytes, uint64_t n)
{
	struct refill over = { c->arrival->sender, c->arrival->sender_index };
	uint8_t *there = malloc(n), here;
	struct payload payload;
	bool is = false, posted;

	if (!there)
		return false;
	memcpy(there, bytes, n);
	posted = was_received_as_posted(c, there, n);
	while (posted && !is && refilled_next(c->r->contents->refilled, &over) &&
	       trace_payload(c->r->trace, over.event, over.index, &payload) > 0) {
		memcpy(there, payload.bytes, payload.nbytes < n ? payload.nbytes : n);
		is = compare_bytes(c->landing, there, 0, n, &here) == n;
	}
	free(there);
	if (is)
		outcome_note_tolerated(c->r->outcome, refilled);
	return is;
}

/* The message comes after the bytes of `before`: the GRH of a datagram. */
static void compare_message(const struct contents_check *c, const struct payload *payload,
			    uint64_t n)
{
	const uint8_t *bytes = payload->bytes;
	uint8_t here = 0, there;
	uint64_t at;

	if (n <= payload->before)
		return;
	outcome_count(c->r->outcome, OUTCOME_PAYLOADS, 1);
	at = compare_bytes(c->landing, bytes, payload->before, n, &here);
	there = at < n ? bytes[at] : 0; /* the bytes are valid only until others are read */
	if (at < n && (payload->before || !is_refilled(c, bytes, n)))
		report_difference(c, at, payload, there, here);
}

static bool is_unknown_request(const struct payload *payload)
{
	return !payload->nbytes && payload->why &&
	       (!strcmp(payload->why, "ambiguous") || !strcmp(payload->why, "unknown-request"));
}

static int check_received(const struct contents_check *c)
{
	bool made = synth_has(
		c->r, c->wc->qp); /* the synthesized end sends the recorded received bytes */
	struct payload sent = { 0 }, payload;
	uint64_t n;
	int found = made ? 1 : find_sent(c, &sent);

	if (found <= 0)
		return found;
	n = made ? UINT64_MAX : sent.nbytes;
	found = trace_payload(c->r->trace, c->event->id, c->i, &payload);
	if (found <= 0)
		return found;
	if (is_unknown_request(&payload) && !made && c->arrival->wc.byte_len >= n &&
	    c->wc->byte_len == c->arrival->wc.byte_len) {
		found = find_sent(c, &payload);
		if (found > 0 && !payload.before)
			compare_message(c, &payload, payload.nbytes);
		return found;
	}
	if (n < UINT64_MAX - payload.before)
		n += payload.before;
	compare_message(c, &payload, payload.nbytes < n ? payload.nbytes : n);
	return 0;
}

/* The first bytes of the fetched data. */
static size_t copy_received_bytes(const struct receive_memory *landing, void *to, size_t size)
{
	size_t n = 0;

	for (uint32_t k = 0; k < landing->nspans && n < size; k++) {
		size_t more =
			landing->spans[k].length < size - n ? landing->spans[k].length : size - n;

		process_read(landing->process, (char *)to + n, landing->spans[k].at, more);
		n += more;
	}
	return n;
}

static int check_fetched(const struct contents_check *c)
{
	struct payload payload;
	uint64_t here = 0;
	int found = trace_payload(c->r->trace, c->event->id, c->i, &payload);
	struct fetch fetch = { .event = c->event->id,
			       .about = c->arrival->request.event,
			       .index = c->i,
			       .object = c->wc->qp };

	if (found <= 0 || !payload.nbytes || !c->landing->place)
		return found < 0 ? found : 0;
	fetch.total = payload.total;
	fetch.at = compare_bytes(c->landing, payload.bytes, 0, payload.nbytes, &fetch.here_byte);
	fetch.same = fetch.at == payload.nbytes;
	if (!fetch.same)
		fetch.there_byte = ((const uint8_t *)payload.bytes)[fetch.at];
	if (payload.nbytes == sizeof(fetch.there))
		memcpy(&fetch.there, payload.bytes, sizeof(fetch.there));
	if (copy_received_bytes(c->landing, &here, sizeof(here)) == sizeof(here))
		fetch.here = here;
	fetched_check(c->r->contents->fetched, c->r->outcome, c->landing->place, &fetch);
	return 0;
}

void contents_check(struct replay *r, const struct trace_event *event, uint32_t i,
		    const struct wc *wc, const struct arrival *arrival, bool doubt)
{
	uint32_t landing = arrival->request.landing;
	struct contents_check c = { r, event, wc, i, arrival, NULL };
	bool success = arrival->wc.status == IBV_WC_SUCCESS && wc->status == IBV_WC_SUCCESS;
	int err = 0;

	if (!r->contents || !landing)
		return;
	c.landing = &r->contents->landings[landing];
	if (success && doubt && was_buffer_reposted(r, landing)) {
		outcome_note_tolerated(r->outcome, reposted);
	} else if (success) {
		if (arrival->wc.opcode == IBV_WC_RECV)
			err = check_received(&c);
		else if (!(arrival->wc.opcode & IBV_WC_RECV))
			err = check_fetched(&c);
	}
	free_receive_memory(r->contents, landing);
	if (err < 0)
		r->contents->err = err;
}

void contents_end(struct replay *r)
{
	if (r->contents)
		fetched_report(r->contents->fetched, r->outcome);
}

int contents_read_error(const struct replay *r)
{
	return r->contents ? r->contents->err : 0;
}
