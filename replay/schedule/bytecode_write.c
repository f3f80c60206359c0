/*
 * Writing bytecode
 *
 * Not here: the words of a step (bytecode_words.c), reading bytecode (bytecode_read.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/schedule/bytecode_priv.h"

struct shape {
	struct shape_kind kind;
	word *words; /* all words of the shape's last step */
};

enum { SHORT_WORDS = 256 /* of a shape whose runs are written without a copy */ };

static bool has_shape(const struct shape_kind *kind)
{
	return (kind->kind == TRACE_POST || kind->kind == TRACE_POLL ||
		kind->kind == TRACE_NOTIFY) &&
	       kind->nwords <= SHAPE_WORDS;
}

static bool is_same_kind(const struct shape_kind *a, const struct shape_kind *b)
{
	return a->kind == b->kind && a->verb == b->verb && a->thread == b->thread &&
	       a->process == b->process && a->object == b->object && a->count == b->count &&
	       a->nsge == b->nsge && a->nwords == b->nwords && a->inner == b->inner &&
	       a->carried == b->carried;
}

static uint64_t hash_kind(const struct shape_kind *kind)
{
	uint64_t hash =
		map_hash((uint64_t)kind->object << 32 | (uint64_t)kind->verb << 8 |
			 (uint64_t)kind->kind << 2 | (uint64_t)kind->inner << 1 | kind->carried);

	hash = map_hash(hash ^ ((uint64_t)kind->thread << 32 | kind->process));
	return map_hash(hash ^ ((uint64_t)kind->count << 32 | kind->nsge));
}

/* Add a shape; 0: there are too many. -ENOMEM. */
static int add_shape(struct player_code *code, uint64_t hash, const struct shape_kind *kind,
		     uint32_t *ret_shape)
{
	struct bytecode *bytecode = code->bytecode;
	size_t bytes = kind->nwords * sizeof(word);
	word *words;

	*ret_shape = 0;
	if (code->nshapes == SHAPES_MAX || bytecode->shapes_bytes + bytes > SHAPES_BYTES)
		return 0;
	if (code->nshapes >= code->shapes_size) {
		uint32_t size = code->shapes_size ? 2 * code->shapes_size : 16;
		struct shape *shape = realloc(code->shape, size * sizeof(*shape));

		if (!shape)
			return -ENOMEM;
		code->shape = shape;
		code->shapes_size = size;
	}
	words = malloc(bytes);
	if (!words || map_put(&code->shapes, hash, code->nshapes)) {
		free(words);
		return -ENOMEM;
	}
	bytecode->shapes_bytes += bytes;
	code->shape[code->nshapes] = (struct shape){ *kind, words };
	*ret_shape = code->nshapes++;
	return 0;
}

/*
 * The last shape of a queue and verb. Posts to both queues of a queue pair, and polls of its CQ,
 * are mostly mixed.
 */
static uint32_t *recent_shape(struct player_code *code, uint32_t object, enum verb verb)
{
	return &code->recent[(object * 8 + verb) % RECENT_SHAPES];
}

/* Find the shape of the step's words; *@ret_whole: the shape is new, or shape 0. */
static int find_shape(struct player_code *code, const struct shape_kind *kind, uint32_t *ret_shape,
		      bool *ret_whole)
{
	uint32_t *recent = recent_shape(code, kind->object, kind->verb);
	uint64_t hash, at;
	int err;

	*ret_shape = *recent;
	*ret_whole = false;
	if (*recent && is_same_kind(&code->shape[*recent].kind, kind))
		return 0;
	*ret_shape = 0;
	*ret_whole = true;
	if (!has_shape(kind)) {
		*recent = 0;
		return 0;
	}
	hash = hash_kind(kind);
	if (map_get(&code->shapes, hash, &at) && is_same_kind(&code->shape[at].kind, kind)) {
		*ret_shape = *recent = (uint32_t)at;
		*ret_whole = false;
		return 0;
	}
	err = add_shape(code, hash, kind, ret_shape);
	*recent = *ret_shape;
	return err;
}

/* The shape of a step that is the last one of its queue and verb again; 0: it is not known. */
static uint32_t find_last_shape(const struct player_code *code, const struct trace_event *event)
{
	bool post = event->kind == TRACE_POST;
	uint32_t object = post ? event->post->object : event->poll->object;
	enum verb verb = post ? event->post->verb : event->poll->verb;
	uint32_t shape = *recent_shape((struct player_code *)code, object, verb);
	const struct shape_kind *kind = &code->shape[shape].kind;

	return shape && kind->kind == event->kind && kind->verb == verb && kind->object == object &&
			       kind->thread == event->id.thread && kind->inner == event->inner &&
			       kind->carried == event->carried
		       ? shape
		       : 0;
}

/* Close a full chunk: move it to the file if the bytecode take too much memory. */
static int close_chunk(struct bytecode *bytecode, struct chunk *chunk)
{
	int err;

	if (bytecode->in_memory <= bytecode->memory)
		return 0;
	err = spill_put(&bytecode->spill, chunk->bytes, chunk->used, &chunk->at);
	if (err)
		return err;
	free(chunk->bytes);
	chunk->bytes = NULL;
	bytecode->in_memory -= chunk->used > BYTECODE_CHUNK ? chunk->used : BYTECODE_CHUNK;
	return 0;
}

static int add_chunk(struct player_code *code, size_t bytes)
{
	size_t size = bytes > BYTECODE_CHUNK ? bytes : BYTECODE_CHUNK;
	struct chunk *chunk;
	int err = code->last ? close_chunk(code->bytecode, code->last) : 0;

	if (err)
		return err;
	chunk = calloc(1, sizeof(*chunk));
	if (chunk)
		chunk->bytes = malloc(size);
	if (!chunk || !chunk->bytes) {
		free(chunk);
		return log_err(-ENOMEM, "compile the trace");
	}
	code->bytecode->in_memory += size;
	if (code->last)
		code->last->next = chunk;
	else
		code->first = code->chunk = chunk;
	code->last = chunk;
	return 0;
}

/*
 * Begin a step whose contents take at most @bytes. They are written directly to their final place:
 * a copy of fields that were just stored one by one is slow.
 */
static inline int begin_op(struct player_code *code, const struct step *step, uint32_t shape,
			   size_t bytes, struct op **ret_op)
{
	const struct trace_event *event = step->event.event;
	size_t waits = step->nwaits * sizeof(struct wait);
	struct op *op;
	int err = 0;

	bytes += sizeof(*op) + waits;
	if (!code->last || code->last->used + bytes > BYTECODE_CHUNK)
		err = add_chunk(code, bytes);
	if (err)
		return err;
	op = (struct op *)(code->last->bytes + code->last->used);
	op->shape = shape;
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

static inline void end_op(struct player_code *code, struct op *op, size_t nwords)
{
	struct bytecode *bytecode = code->bytecode;

	op->bytes = (uint32_t)((char *)(op_body(op) + nwords) - (char *)op);
	code->last->used += op->bytes;
	code->last_seq = op->seq;
	bytecode->bytes += op->bytes;
	bytecode->steps++;
	if (op->time > bytecode->time)
		bytecode->time = op->time;
}

/* Write a step with all words of its shape, after the kind of the shape. */
static int put_whole_shape(struct player_code *code, const struct step *step, uint32_t shape,
			   const struct shape_kind *kind)
{
	size_t nwords = WORDS(sizeof(*kind)) + kind->nwords;
	struct op *op;
	int err = begin_op(code, step, shape, nwords * sizeof(word), &op);

	if (err)
		return err;
	op->whole = true;
	memcpy(op_body(op), kind, sizeof(*kind));
	memcpy(op_body(op) + WORDS(sizeof(*kind)), code->bytecode->words,
	       kind->nwords * sizeof(word));
	if (shape)
		memcpy(code->shape[shape].words, code->bytecode->words,
		       kind->nwords * sizeof(word));
	end_op(code, op, nwords);
	return 0;
}

static int put_runs(struct player_code *code, const struct step *step, uint32_t shape,
		    uint32_t nwords)
{
	const struct trace_event *event = step->event.event;
	word *before = code->shape[shape].words, *runs = code->bytecode->runs;
	bool is_short = nwords <= SHORT_WORDS;
	uint16_t nruns = 0;
	size_t n = is_short ? bytecode_most_runs(nwords)
			    : bytecode_find_runs(runs, before, event, &nruns);
	struct op *op;
	int err = begin_op(code, step, shape, n * sizeof(word), &op);

	if (err)
		return err;
	if (event->kind == TRACE_POST && event->again)
		n = 0;
	else if (is_short)
		n = bytecode_find_runs(op_body(op), before, event, &nruns);
	else
		memcpy(op_body(op), runs, n * sizeof(word));
	op->nruns = nruns;
	end_op(code, op, n);
	return 0;
}

static __attribute__((noinline)) int
put_described(struct bytecode *bytecode, struct player_code *code, const struct step *step)
{
	struct shape_kind kind;
	uint32_t shape;
	bool whole;

	bytecode_describe(step->event.event, &kind);
	if (find_shape(code, &kind, &shape, &whole) ||
	    (whole && bytecode_write_words(bytecode, step->event.event, &kind)))
		return log_err(-ENOMEM, "compile the trace");
	return whole ? put_whole_shape(code, step, shape, &kind)
		     : put_runs(code, step, shape, kind.nwords);
}

int bytecode_put_step(struct bytecode *bytecode, const struct step *step)
{
	struct player_code *code = &bytecode->code[step->player];
	uint32_t shape = step->event.event->again ? find_last_shape(code, step->event.event) : 0;

	return shape ? put_runs(code, step, shape, code->shape[shape].kind.nwords)
		     : put_described(bytecode, code, step);
}

static void forget_shapes(struct player_code *code)
{
	for (uint32_t i = 1; i < code->nshapes; i++)
		free(code->shape[i].words);
	free(code->shape);
	code->shape = NULL;
	code->nshapes = 0;
	map_fini(&code->shapes);
}

void bytecode_end(struct bytecode *bytecode)
{
	for (uint32_t i = 1; i <= bytecode->players; i++)
		forget_shapes(&bytecode->code[i]);
	free(bytecode->words);
	free(bytecode->runs);
	bytecode->words = bytecode->runs = NULL;
}

int64_t bytecode_time(const struct bytecode *bytecode)
{
	return bytecode->time;
}

uint64_t bytecode_count_steps(const struct bytecode *bytecode)
{
	return bytecode->steps;
}

size_t bytecode_bytes(const struct bytecode *bytecode)
{
	return bytecode->bytes;
}

size_t bytecode_memory(const struct bytecode *bytecode)
{
	return bytecode->in_memory;
}

struct player_code *bytecode_of_player(struct bytecode *bytecode, uint32_t player)
{
	struct player_code *code =
		player && player <= bytecode->players ? &bytecode->code[player] : NULL;

	return code && code->last_seq ? code : NULL;
}

uint64_t player_code_last_step(const struct player_code *code)
{
	return code->last_seq;
}

int bytecode_new(uint32_t players, size_t memory, struct bytecode **ret_bytecode)
{
	size_t bytes = sizeof(struct bytecode) + (players + 1ul) * sizeof(struct player_code);
	struct bytecode *bytecode = lines_alloc(1, bytes);

	if (!bytecode)
		return -ENOMEM;
	bytecode->players = players;
	bytecode->memory = memory;
	bytecode->spill.fd = -1;
	for (uint32_t i = 0; i <= players; i++) {
		bytecode->code[i].bytecode = bytecode;
		bytecode->code[i].player = i;
		bytecode->code[i].nshapes = 1; /* shape 0 has no words */
	}
	*ret_bytecode = bytecode;
	return 0;
}

void bytecode_free(struct bytecode *bytecode)
{
	if (!bytecode)
		return;
	for (uint32_t i = 0; i <= bytecode->players; i++) {
		forget_shapes(&bytecode->code[i]);
		player_code_fini_read(&bytecode->code[i]);
	}
	free(bytecode->words);
	free(bytecode->runs);
	spill_close(&bytecode->spill);
	free(bytecode);
}
