/*
 * Writing tapes
 *
 * Not here: reading them (tape_read.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/schedule/tape_priv.h"

struct form {
	struct form_kind kind;
	word *words; /* of its last step */
};

enum {
	CALL_WORDS = WORDS(sizeof(struct call)),
	SHORT_WORDS = 256, /* of a form whose runs are written without a copy */
};

/* Make space for @n words of a step, and for their runs. */
static int reserve_words(struct tapes *tapes, size_t n)
{
	word *words, *runs;

	n += WORDS(sizeof(struct form_kind));
	if (n <= tapes->words_size)
		return 0;
	words = realloc(tapes->words, n * sizeof(*words));
	tapes->words = words ? words : tapes->words;
	runs = realloc(tapes->runs, 2 * n * sizeof(*runs));
	tapes->runs = runs ? runs : tapes->runs;
	if (!words || !runs)
		return -ENOMEM;
	tapes->words_size = n;
	return 0;
}

static int write_post(struct tapes *tapes, const struct post *post, struct form_kind *kind)
{
	struct post *to;
	struct wr *wr;
	struct sge *sge;

	kind->verb = post->verb;
	kind->object = post->object;
	kind->count = post->nwr;
	for (uint32_t i = 0; i < post->nwr; i++)
		kind->nsge += post->wr[i].nsge;
	if (reserve_words(tapes, WORDS(sizeof(*post)) + post->nwr * WORDS(sizeof(*wr)) +
					 kind->nsge * WORDS(sizeof(*sge))))
		return -ENOMEM;
	to = (struct post *)tapes->words;
	*to = *post;
	to->wr = NULL;
	wr = (struct wr *)(to + 1);
	sge = (struct sge *)(wr + post->nwr);
	for (uint32_t i = 0; i < post->nwr; i++) {
		wr[i] = post->wr[i];
		wr[i].sge = NULL;
		for (uint32_t k = 0; k < post->wr[i].nsge; k++)
			*sge++ = post->wr[i].sge[k];
	}
	kind->nwords = (uint32_t)((word *)sge - tapes->words);
	return 0;
}

/* Write the needed fields of a completion; the time of its post only if the request took long. */
static void write_completion(struct wc *to, const struct wc *wc)
{
	*to = *wc;
	to->request.n = 0;
	if (!wc->status)
		to->posted_at = 0;
	to->candidates = 0;
	to->other = (struct event_id){ 0 };
	to->other_index = 0;
	to->other_posted_at = 0;
}

static int write_poll(struct tapes *tapes, const struct trace_event *event, struct form_kind *kind)
{
	const struct poll *poll = event->poll;
	struct poll *to;
	struct wc *wc;
	word *requests;

	kind->verb = poll->verb;
	kind->object = poll->object;
	kind->count = poll->nwc;
	if (reserve_words(tapes, WORDS(sizeof(*poll)) + poll->nwc * (WORDS(sizeof(*wc)) + 1ul)))
		return -ENOMEM;
	to = (struct poll *)tapes->words;
	*to = *poll;
	to->empty = 0;
	to->wc = NULL;
	wc = (struct wc *)(to + 1);
	requests = (word *)(wc + poll->nwc);
	for (uint32_t i = 0; i < poll->nwc; i++) {
		uint64_t n = poll->wc[i].request.n;

		write_completion(&wc[i], &poll->wc[i]);
		requests[i] = is_near(&wc[i], event->id.thread) ? event->id.n - n : n;
	}
	kind->nwords = (uint32_t)(requests + poll->nwc - tapes->words);
	return 0;
}

static size_t text_words(const struct args *args)
{
	return args ? WORDS(args_size(args) + 1) : 0;
}

static word *write_text(word *to, word *length, const struct args *args)
{
	size_t n = text_words(args);

	*length = args ? args_size(args) : NO_TEXT;
	if (!n)
		return to;
	to[n - 1] = 0;
	memcpy(to, args_json(args), args_size(args));
	return to + n;
}

static int write_call(struct tapes *tapes, const struct call *call, struct form_kind *kind)
{
	struct call *to;
	word *length, *text;

	if (reserve_words(tapes, CALL_WORDS + 2 + text_words(call->args) + text_words(call->out)))
		return -ENOMEM;
	to = (struct call *)tapes->words;
	*to = *call;
	to->args = to->out = NULL;
	length = tapes->words + CALL_WORDS;
	text = write_text(length + 2, length, call->args);
	text = write_text(text, length + 1, call->out);
	kind->nwords = (uint32_t)(text - tapes->words);
	return 0;
}

/* Write the words of an event, and determine its form. */
static int write_words(struct tapes *tapes, const struct trace_event *event, struct form_kind *kind)
{
	*kind = (struct form_kind){ .kind = event->kind,
				    .thread = event->id.thread,
				    .process = event->process,
				    .inner = event->inner,
				    .carried = event->carried };
	switch (event->kind) {
	case TRACE_POST:
		return write_post(tapes, event->post, kind);
	case TRACE_POLL:
		return write_poll(tapes, event, kind);
	case TRACE_NOTIFY:
		kind->object = event->notify->object;
		kind->nwords = WORDS(sizeof(*event->notify));
		if (reserve_words(tapes, kind->nwords))
			return -ENOMEM;
		memcpy(tapes->words, event->notify, sizeof(*event->notify));
		return 0;
	case TRACE_CALL:
	case TRACE_RETURN:
		return write_call(tapes, event->call, kind);
	default:
		kind->nwords = 1;
		if (reserve_words(tapes, 1))
			return -ENOMEM;
		tapes->words[0] = (uintptr_t)event->call;
		return 0;
	}
}

static bool has_form(const struct form_kind *kind)
{
	return (kind->kind == TRACE_POST || kind->kind == TRACE_POLL ||
		kind->kind == TRACE_NOTIFY) &&
	       kind->nwords <= FORM_WORDS;
}

static bool is_same_kind(const struct form_kind *a, const struct form_kind *b)
{
	return a->kind == b->kind && a->verb == b->verb && a->thread == b->thread &&
	       a->process == b->process && a->object == b->object && a->count == b->count &&
	       a->nsge == b->nsge && a->nwords == b->nwords && a->inner == b->inner &&
	       a->carried == b->carried;
}

static uint64_t hash_kind(const struct form_kind *kind)
{
	uint64_t hash =
		map_hash((uint64_t)kind->object << 32 | (uint64_t)kind->verb << 8 |
			 (uint64_t)kind->kind << 2 | (uint64_t)kind->inner << 1 | kind->carried);

	hash = map_hash(hash ^ ((uint64_t)kind->thread << 32 | kind->process));
	return map_hash(hash ^ ((uint64_t)kind->count << 32 | kind->nsge));
}

/* Add a form; 0: there are too many. -ENOMEM. */
static int add_form(struct tape *tape, uint64_t hash, const struct form_kind *kind,
		    uint32_t *ret_form)
{
	struct tapes *tapes = tape->tapes;
	size_t bytes = kind->nwords * sizeof(word);
	word *words;

	*ret_form = 0;
	if (tape->nforms == FORMS_MAX || tapes->forms_bytes + bytes > FORMS_BYTES)
		return 0;
	if (tape->nforms >= tape->forms_size) {
		uint32_t size = tape->forms_size ? 2 * tape->forms_size : 16;
		struct form *form = realloc(tape->form, size * sizeof(*form));

		if (!form)
			return -ENOMEM;
		tape->form = form;
		tape->forms_size = size;
	}
	words = malloc(bytes);
	if (!words || map_put(&tape->forms, hash, tape->nforms)) {
		free(words);
		return -ENOMEM;
	}
	tapes->forms_bytes += bytes;
	tape->form[tape->nforms] = (struct form){ *kind, words };
	*ret_form = tape->nforms++;
	return 0;
}

/* Find the form of the step's words; *@ret_whole: the form is new, or form 0. */
static int find_form(struct tape *tape, const struct form_kind *kind, uint32_t *ret_form,
		     bool *ret_whole)
{
	uint32_t *recent = &tape->recent[(kind->object * 4 + kind->kind) % RECENT_FORMS];
	uint64_t hash, at;

	*ret_form = *recent;
	*ret_whole = false;
	if (*recent && is_same_kind(&tape->form[*recent].kind, kind))
		return 0;
	*ret_form = 0;
	*ret_whole = true;
	if (!has_form(kind))
		return 0;
	hash = hash_kind(kind);
	if (!map_get(&tape->forms, hash, &at) || !is_same_kind(&tape->form[at].kind, kind))
		return add_form(tape, hash, kind, ret_form);
	*ret_form = *recent = (uint32_t)at;
	*ret_whole = false;
	return 0;
}

static bool are_four_same(const word *a, const word *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]));
}

/*
 * Find the words that differ from those of the form's last step, and update the latter. The runs go
 * to @to: most_runs() words at most. Returns their length in words.
 */
static size_t find_runs(word *to, word *before, const word *now, uint32_t n, uint16_t *ret_nruns)
{
	const word *begin = to;
	uint32_t at = 0, from;
	uint16_t nruns = 0;

	while (at < n) {
		if (n - at >= 4 && are_four_same(now + at, before + at)) {
			at += 4;
			continue;
		}
		from = at;
		for (; at < n && now[at] != before[at]; at++)
			to[1 + at - from] = before[at] = now[at];
		if (at == from) {
			at++;
			continue;
		}
		*(struct run *)to = (struct run){ from, at - from };
		to += 1 + at - from;
		nruns++;
	}
	*ret_nruns = nruns;
	return (size_t)(to - begin);
}

/* An upper bound: a run has one word more than it replaces; runs are at least a word apart. */
static size_t most_runs(uint32_t nwords)
{
	return nwords + nwords / 2 + 1;
}

/* Close a full chunk: move it to the file if the tapes take too much memory. */
static int close_chunk(struct tapes *tapes, struct chunk *chunk)
{
	int err;

	if (tapes->in_memory <= tapes->memory)
		return 0;
	err = spill_put(&tapes->spill, chunk->bytes, chunk->used, &chunk->at);
	if (err)
		return err;
	free(chunk->bytes);
	chunk->bytes = NULL;
	tapes->in_memory -= chunk->used > TAPE_CHUNK ? chunk->used : TAPE_CHUNK;
	return 0;
}

static int add_chunk(struct tape *tape, size_t bytes)
{
	size_t size = bytes > TAPE_CHUNK ? bytes : TAPE_CHUNK;
	struct chunk *chunk;
	int err = tape->last ? close_chunk(tape->tapes, tape->last) : 0;

	if (err)
		return err;
	chunk = calloc(1, sizeof(*chunk));
	if (chunk)
		chunk->bytes = malloc(size);
	if (!chunk || !chunk->bytes) {
		free(chunk);
		return log_err(-ENOMEM, "compile the trace");
	}
	tape->tapes->in_memory += size;
	if (tape->last)
		tape->last->next = chunk;
	else
		tape->first = tape->chunk = chunk;
	tape->last = chunk;
	return 0;
}

/*
 * Begin a step whose contents take at most @bytes. They are written directly to their final place:
 * a copy of fields that were just stored one by one is slow.
 */
static int begin_op(struct tape *tape, const struct step *step, uint32_t form, size_t bytes,
		    struct op **ret_op)
{
	const struct trace_event *event = step->event.event;
	size_t waits = step->nwaits * sizeof(struct wait);
	struct op *op;
	int err = 0;

	bytes += sizeof(*op) + waits;
	if (!tape->last || tape->last->used + bytes > TAPE_CHUNK)
		err = add_chunk(tape, bytes);
	if (err)
		return err;
	op = (struct op *)(tape->last->bytes + tape->last->used);
	op->form = form;
	op->nwaits = (uint16_t)step->nwaits;
	op->nruns = 0;
	op->whole = false;
	op->n = event->id.n;
	op->time = event->time;
	op->seq = step->seq;
	op->empty = event->kind == TRACE_POLL ? event->poll->empty : 0;
	if (waits)
		memcpy(op + 1, step->waits, waits);
	*ret_op = op;
	return 0;
}

static word *op_body(struct op *op)
{
	return (word *)(op + 1) + op->nwaits * WORDS(sizeof(struct wait));
}

static void end_op(struct tape *tape, struct op *op, size_t nwords)
{
	struct tapes *tapes = tape->tapes;

	op->bytes = (uint32_t)((char *)(op_body(op) + nwords) - (char *)op);
	tape->last->used += op->bytes;
	tape->last_seq = op->seq;
	tapes->bytes += op->bytes;
	tapes->steps++;
	if (op->time > tapes->time)
		tapes->time = op->time;
}

/* Write a step with all words of its form, after the kind of the form. */
static int put_whole_form(struct tape *tape, const struct step *step, uint32_t form,
			  const struct form_kind *kind)
{
	size_t nwords = WORDS(sizeof(*kind)) + kind->nwords;
	struct op *op;
	int err = begin_op(tape, step, form, nwords * sizeof(word), &op);

	if (err)
		return err;
	op->whole = true;
	memcpy(op_body(op), kind, sizeof(*kind));
	memcpy(op_body(op) + WORDS(sizeof(*kind)), tape->tapes->words, kind->nwords * sizeof(word));
	if (form)
		memcpy(tape->form[form].words, tape->tapes->words, kind->nwords * sizeof(word));
	end_op(tape, op, nwords);
	return 0;
}

static int put_runs(struct tape *tape, const struct step *step, uint32_t form, uint32_t nwords)
{
	struct tapes *tapes = tape->tapes;
	word *before = tape->form[form].words;
	bool is_short = nwords <= SHORT_WORDS;
	uint16_t nruns = 0;
	size_t n = is_short ? most_runs(nwords)
			    : find_runs(tapes->runs, before, tapes->words, nwords, &nruns);
	struct op *op;
	int err = begin_op(tape, step, form, n * sizeof(word), &op);

	if (err)
		return err;
	if (is_short)
		n = find_runs(op_body(op), before, tapes->words, nwords, &nruns);
	else
		memcpy(op_body(op), tapes->runs, n * sizeof(word));
	op->nruns = nruns;
	end_op(tape, op, n);
	return 0;
}

int tapes_put(struct tapes *tapes, const struct step *step)
{
	struct tape *tape = &tapes->tape[step->player];
	struct form_kind kind;
	uint32_t form;
	bool whole;

	if (write_words(tapes, step->event.event, &kind) || find_form(tape, &kind, &form, &whole))
		return log_err(-ENOMEM, "compile the trace");
	return whole ? put_whole_form(tape, step, form, &kind)
		     : put_runs(tape, step, form, kind.nwords);
}

static void forget_forms(struct tape *tape)
{
	for (uint32_t i = 1; i < tape->nforms; i++)
		free(tape->form[i].words);
	free(tape->form);
	tape->form = NULL;
	tape->nforms = 0;
	map_fini(&tape->forms);
}

void tapes_end(struct tapes *tapes)
{
	for (uint32_t i = 1; i <= tapes->players; i++)
		forget_forms(&tapes->tape[i]);
	free(tapes->words);
	free(tapes->runs);
	tapes->words = tapes->runs = NULL;
}

int64_t tapes_time(const struct tapes *tapes)
{
	return tapes->time;
}

uint64_t tapes_steps(const struct tapes *tapes)
{
	return tapes->steps;
}

size_t tapes_bytes(const struct tapes *tapes)
{
	return tapes->bytes;
}

size_t tapes_memory(const struct tapes *tapes)
{
	return tapes->in_memory;
}

struct tape *tapes_of(struct tapes *tapes, uint32_t player)
{
	struct tape *tape = player && player <= tapes->players ? &tapes->tape[player] : NULL;

	return tape && tape->last_seq ? tape : NULL;
}

uint64_t tape_last(const struct tape *tape)
{
	return tape->last_seq;
}

int tapes_new(uint32_t players, size_t memory, struct tapes **ret_tapes)
{
	size_t bytes = sizeof(struct tapes) + (players + 1ul) * sizeof(struct tape);
	struct tapes *tapes = lines_alloc(1, bytes);

	if (!tapes)
		return -ENOMEM;
	tapes->players = players;
	tapes->memory = memory;
	tapes->spill.fd = -1;
	for (uint32_t i = 0; i <= players; i++) {
		tapes->tape[i].tapes = tapes;
		tapes->tape[i].player = i;
		tapes->tape[i].nforms = 1; /* form 0 has no words */
	}
	*ret_tapes = tapes;
	return 0;
}

void tapes_free(struct tapes *tapes)
{
	if (!tapes)
		return;
	for (uint32_t i = 0; i <= tapes->players; i++) {
		forget_forms(&tapes->tape[i]);
		tape_fini_read(&tapes->tape[i]);
	}
	free(tapes->words);
	free(tapes->runs);
	spill_close(&tapes->spill);
	free(tapes);
}
