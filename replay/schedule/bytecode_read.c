/*
 * Reading bytecode
 *
 * Each shape has an instance: the words of its last step, with pointers in place of their zeros.
 * The event that is returned points into the instance.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/schedule/bytecode_priv.h"

enum { AHEAD = 512 }; /* bytes to prefetch: some steps */

struct shape_instance {
	struct ready_step ready;
	struct shape_kind kind;
	word *words;
	uint32_t size;
	uint32_t steady; /* number of words before those with the numbers of posts */
};

static void free_chunk(struct chunk *chunk)
{
	free(chunk->bytes);
	free(chunk);
}

static int load_chunk(struct player_code *code, const struct chunk *chunk)
{
	if (chunk->used > code->buffer_size) {
		size_t size = chunk->used > BYTECODE_CHUNK ? chunk->used : BYTECODE_CHUNK;
		char *buffer = realloc(code->buffer, size);

		if (!buffer)
			return log_err(-ENOMEM, "read the compiled trace");
		code->buffer = buffer;
		code->buffer_size = size;
	}
	if (chunk->next && !chunk->next->bytes)
		spill_expect(&code->bytecode->spill, chunk->next->at, chunk->next->used);
	return spill_get(&code->bytecode->spill, chunk->at, code->buffer, chunk->used);
}

/* Go to the next chunk: 1, 0 at the end, or -errno. */
static int next_chunk(struct player_code *code)
{
	struct chunk *chunk = code->first;
	int err = 0;

	if (chunk && code->end) { /* it was read */
		code->first = code->chunk = chunk->next;
		free_chunk(chunk);
		chunk = code->first;
		code->at = code->end = NULL;
	}
	if (!chunk)
		return 0;
	if (!chunk->bytes)
		err = load_chunk(code, chunk);
	if (err)
		return err;
	code->at = chunk->bytes ? chunk->bytes : code->buffer;
	code->end = code->at + chunk->used;
	return 1;
}

static void drop_texts(struct shape_instance *in)
{
	struct call *call = (struct call *)in->words;

	if (!call || (in->kind.kind != TRACE_CALL && in->kind.kind != TRACE_RETURN))
		return;
	args_unref(call->args);
	args_unref(call->out);
	call->args = call->out = NULL;
}

/* Set the pointers of a post, whose requests have their SGEs one after the other. */
static void join_post(struct shape_instance *in)
{
	struct post *post = (struct post *)in->words;
	struct wr *wr = (struct wr *)(post + 1);
	struct sge *sge = (struct sge *)(wr + in->kind.count);

	post->wr = wr;
	in->ready.event.post = post;
	for (uint32_t i = 0; i < in->kind.count; i++) {
		wr[i].sge = sge;
		sge += wr[i].nsge;
	}
}

static void join_poll(struct shape_instance *in, const struct op *op)
{
	struct poll *poll = (struct poll *)in->words;
	struct wc *wc = (struct wc *)(poll + 1);
	const word *requests = (const word *)(wc + in->kind.count);

	poll->empty = op->empty;
	poll->wc = wc;
	in->ready.event.poll = poll;
	in->steady = (uint32_t)(requests - in->words);
	for (uint32_t i = 0; i < in->kind.count; i++)
		wc[i].request.n =
			is_near(&wc[i], in->kind.thread) ? op->n - requests[i] : requests[i];
}

/* Parse a text of a call; no other event has texts. */
static int join_text(struct args **ret_args, uint64_t length, const word **text)
{
	int err;

	*ret_args = NULL;
	if (length == NO_TEXT)
		return 0;
	*ret_args = args_new((const char *)*text, length);
	if (!*ret_args)
		return -ENOMEM;
	*text += WORDS(length + 1);
	err = args_parse(*ret_args);
	return err == -ENOMEM ? err : 0;
}

static int join_call(struct shape_instance *in)
{
	struct call *call = (struct call *)in->words;
	const word *length = in->words + WORDS(sizeof(*call)), *text = length + 2;

	in->ready.event.call = call;
	return join_text(&call->args, length[0], &text) ?: join_text(&call->out, length[1], &text);
}

/* Set the pointers into the instance's words, and the numbers. */
static int join_words(struct shape_instance *in, const struct op *op)
{
	switch (in->kind.kind) {
	case TRACE_POST:
		/* the pointers of a single request do not change */
		if (op->whole || (op->nruns && in->kind.count > 1))
			join_post(in);
		return 0;
	case TRACE_POLL:
		join_poll(in, op);
		return 0;
	case TRACE_NOTIFY:
		in->ready.event.notify = (const struct notify *)in->words;
		return 0;
	case TRACE_CALL:
	case TRACE_RETURN:
		return join_call(in);
	default:
		in->ready.event.call = (const struct call *)(uintptr_t)in->words[0];
		return 0;
	}
}

static int load_whole_shape(struct player_code *code, struct shape_instance *in, const word *body)
{
	const struct shape_kind *kind = (const struct shape_kind *)body;

	drop_texts(in);
	free(in->ready.kept);
	in->ready = (struct ready_step){ .player = code->player };
	if (kind->nwords > in->size) {
		word *words = realloc(in->words, kind->nwords * sizeof(*words));

		if (!words)
			return -ENOMEM;
		in->words = words;
		in->size = kind->nwords;
	}
	in->kind = *kind;
	in->steady = kind->nwords;
	in->ready.event = (struct trace_event){ .kind = kind->kind,
						.id.thread = kind->thread,
						.process = kind->process,
						.inner = kind->inner,
						.carried = kind->carried };
	memcpy(in->words, body + WORDS(sizeof(*kind)), kind->nwords * sizeof(*in->words));
	return 0;
}

/* Apply the runs, which are sorted by the index of their words. */
static void load_runs(struct shape_instance *in, const word *body, uint32_t n)
{
	in->ready.changed |= n && ((const struct run *)body)->at < in->steady;
	for (; n; n--) {
		const struct run *run = (const struct run *)body;

		for (uint32_t i = 0; i < run->n; i++)
			in->words[run->at + i] = body[1 + i];
		body += 1 + run->n;
	}
}

/* Add the instance of a shape that is seen for the first time. */
static struct shape_instance *add_instance(struct player_code *code, uint32_t shape)
{
	if (shape >= code->ninstances) {
		uint32_t n = shape < 8 ? 16 : 2 * shape;
		struct shape_instance **to =
			realloc(code->instances, n * sizeof(struct shape_instance *));

		if (!to)
			return NULL;
		memset(to + code->ninstances, 0, (n - code->ninstances) * sizeof(*to));
		code->instances = to;
		code->ninstances = n;
	}
	if (!code->instances[shape])
		code->instances[shape] = calloc(1, sizeof(struct shape_instance));
	return code->instances[shape];
}

int player_code_next(struct player_code *code, struct ready_step **ret_ready)
{
	int more = code->at == code->end ? next_chunk(code) : 1;
	const struct op *op = (const struct op *)code->at;
	const word *body;
	struct shape_instance *in;
	int err = 0;

	if (more <= 0)
		return more;
	code->at += op->bytes;
	__builtin_prefetch(code->at + AHEAD); /* processors do not prefetch beyond a page */
	in = op->whole ? add_instance(code, op->shape) : code->instances[op->shape];
	body = (const word *)(op + 1) + op->nwaits * WORDS(sizeof(struct wait));
	if (op->whole)
		err = in ? load_whole_shape(code, in, body) : -ENOMEM;
	else
		load_runs(in, body, op->nruns);
	if (!err)
		err = join_words(in, op);
	if (err)
		return log_err(err, "read the compiled trace");
	in->ready.event.id.n = op->n;
	in->ready.event.time = op->time;
	in->ready.seq = op->seq;
	in->ready.nwaits = op->nwaits;
	in->ready.waits = (const struct wait *)(op + 1);
	in->ready.changed |= op->whole;
	*ret_ready = &in->ready;
	return 1;
}

void player_code_fini_read(struct player_code *code)
{
	while (code->first) {
		struct chunk *chunk = code->first;

		code->first = chunk->next;
		free_chunk(chunk);
	}
	for (uint32_t i = 0; i < code->ninstances; i++) {
		struct shape_instance *in = code->instances[i];

		if (!in)
			continue;
		drop_texts(in);
		free(in->ready.kept);
		free(in->words);
		free(in);
	}
	free(code->instances);
	free(code->buffer);
}
