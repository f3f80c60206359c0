/*
 * Writing tapes
 *
 * Not here: the words of a step (tape_words.c), reading tapes (tape_read.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/schedule/tape_priv.h"

struct form {
	struct form_kind kind;
	word *words; /* all words of the form's last step */
};

enum { SHORT_WORDS = 256 /* of a form whose runs are written without a copy */ };

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
	/* posts to both queues of a queue pair, and polls of its CQ, are mostly mixed */
	uint32_t *recent = &tape->recent[(kind->object * 8 + kind->verb) % RECENT_FORMS];
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
	const struct trace_event *event = step->event.event;
	word *before = tape->form[form].words, *runs = tape->tapes->runs;
	bool is_short = nwords <= SHORT_WORDS;
	uint16_t nruns = 0;
	size_t n = is_short ? tape_most_runs(nwords) : tape_find_runs(runs, before, event, &nruns);
	struct op *op;
	int err = begin_op(tape, step, form, n * sizeof(word), &op);

	if (err)
		return err;
	if (is_short)
		n = tape_find_runs(op_body(op), before, event, &nruns);
	else
		memcpy(op_body(op), runs, n * sizeof(word));
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

	tape_describe(step->event.event, &kind);
	if (find_form(tape, &kind, &form, &whole) ||
	    (whole && tape_write_words(tapes, step->event.event, &kind)))
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
