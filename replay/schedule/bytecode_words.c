/*
 * The words of a step: writing them, and finding those that differ from the shape's last step
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/schedule/bytecode_priv.h"

enum {
	CALL_WORDS = WORDS(sizeof(struct call)),
	POST_WORDS = WORDS(sizeof(struct post)),
	WR_WORDS = WORDS(sizeof(struct wr)),
	SGE_WORDS = WORDS(sizeof(struct sge)),
	POLL_WORDS = WORDS(sizeof(struct poll)),
	WC_WORDS = WORDS(sizeof(struct wc)),
	NOTIFY_WORDS = WORDS(sizeof(struct notify)),
};

#define WORD_OF(type, member) (offsetof(struct type, member) / sizeof(word))

/* Make space for @n words of a step, and for their runs. */
static int reserve_words(struct bytecode *bytecode, size_t n)
{
	word *words, *runs;

	n += WORDS(sizeof(struct shape_kind));
	if (n <= bytecode->words_size)
		return 0;
	words = realloc(bytecode->words, n * sizeof(*words));
	bytecode->words = words ? words : bytecode->words;
	runs = realloc(bytecode->runs, 2 * n * sizeof(*runs));
	bytecode->runs = runs ? runs : bytecode->runs;
	if (!words || !runs)
		return -ENOMEM;
	bytecode->words_size = n;
	return 0;
}

static void write_post(word *words, const struct post *post)
{
	struct post *to = (struct post *)words;
	struct wr *wr = (struct wr *)(to + 1);
	struct sge *sge = (struct sge *)(wr + post->nwr);

	*to = *post;
	to->wr = NULL;
	for (uint32_t i = 0; i < post->nwr; i++) {
		wr[i] = post->wr[i];
		wr[i].sge = NULL;
		for (uint32_t k = 0; k < post->wr[i].nsge; k++)
			*sge++ = post->wr[i].sge[k];
	}
}

/* The time of the post of a completion; stored only if the request may have taken long. */
static int64_t posted_at(const struct wc *wc)
{
	return wc->status ? wc->posted_at : 0;
}

/* The number of the post of a completion: is_near(). */
static word post_number_of(const struct trace_event *event, const struct wc *wc)
{
	return is_near(wc, event->id.thread) ? event->id.n - wc->request.n : wc->request.n;
}

/* Write the needed fields of a completion. */
static void write_completion(struct wc *to, const struct wc *wc)
{
	*to = *wc;
	to->request.n = 0;
	to->posted_at = posted_at(wc);
	to->candidates = 0;
	to->other = (struct event_id){ 0 };
	to->other_index = 0;
	to->other_posted_at = 0;
}

static void write_poll(word *words, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct poll *to = (struct poll *)words;
	struct wc *wc = (struct wc *)(to + 1);
	word *requests = (word *)(wc + poll->nwc);

	*to = *poll;
	to->empty = 0;
	to->wc = NULL;
	for (uint32_t i = 0; i < poll->nwc; i++) {
		write_completion(&wc[i], &poll->wc[i]);
		requests[i] = post_number_of(event, &poll->wc[i]);
	}
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

static int write_call(struct bytecode *bytecode, const struct call *call, struct shape_kind *kind)
{
	struct call *to;
	word *length, *text;

	if (reserve_words(bytecode,
			  CALL_WORDS + 2 + text_words(call->args) + text_words(call->out)))
		return -ENOMEM;
	to = (struct call *)bytecode->words;
	*to = *call;
	to->args = to->out = NULL;
	length = bytecode->words + CALL_WORDS;
	text = write_text(length + 2, length, call->args);
	text = write_text(text, length + 1, call->out);
	kind->nwords = (uint32_t)(text - bytecode->words);
	return 0;
}

static void describe_post(const struct post *post, struct shape_kind *kind)
{
	kind->verb = post->verb;
	kind->object = post->object;
	kind->count = post->nwr;
	for (uint32_t i = 0; i < post->nwr; i++)
		kind->nsge += post->wr[i].nsge;
	kind->nwords = POST_WORDS + post->nwr * WR_WORDS + kind->nsge * SGE_WORDS;
}

static void describe_poll(const struct poll *poll, struct shape_kind *kind)
{
	kind->verb = poll->verb;
	kind->object = poll->object;
	kind->count = poll->nwc;
	kind->nwords = POLL_WORDS + poll->nwc * (WC_WORDS + 1u);
}

void bytecode_describe(const struct trace_event *event, struct shape_kind *kind)
{
	*kind = (struct shape_kind){ .kind = event->kind,
				     .thread = event->id.thread,
				     .process = event->process,
				     .inner = event->inner,
				     .carried = event->carried };
	if (event->kind == TRACE_POST) {
		describe_post(event->post, kind);
	} else if (event->kind == TRACE_POLL) {
		describe_poll(event->poll, kind);
	} else if (event->kind == TRACE_NOTIFY) {
		kind->object = event->notify->object;
		kind->nwords = NOTIFY_WORDS;
	} else {
		kind->nwords = 1;
	}
}

int bytecode_write_words(struct bytecode *bytecode, const struct trace_event *event,
			 struct shape_kind *kind)
{
	if (event->kind == TRACE_CALL || event->kind == TRACE_RETURN)
		return write_call(bytecode, event->call, kind);
	if (reserve_words(bytecode, kind->nwords))
		return -ENOMEM;
	if (event->kind == TRACE_POST)
		write_post(bytecode->words, event->post);
	else if (event->kind == TRACE_POLL)
		write_poll(bytecode->words, event);
	else if (event->kind == TRACE_NOTIFY)
		memcpy(bytecode->words, event->notify, sizeof(*event->notify));
	else
		bytecode->words[0] = (uintptr_t)event->call;
	return 0;
}

static bool are_four_same(const word *a, const word *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]));
}

/* The runs of a step, as they are found. */
struct runs {
	word *before; /* all words of the shape's last step, which are updated */
	word *to;     /* the next run: bytecode_most_runs() words at most */
	uint16_t count;
};

/* Add a run for each sequence of the @n words from number @at on that differs. */
static __attribute__((noinline)) void add_runs(struct runs *runs, uint32_t at, const word *now,
					       uint32_t n)
{
	word *before = runs->before + at, *to = runs->to;
	uint32_t i = 0, from;

	while (i < n) {
		if (n - i >= 4 && are_four_same(now + i, before + i)) {
			i += 4;
			continue;
		}
		from = i;
		for (; i < n && now[i] != before[i]; i++)
			to[1 + i - from] = before[i] = now[i];
		if (i == from) {
			i++;
			continue;
		}
		*(struct run *)to = (struct run){ at + from, i - from };
		to += 1 + i - from;
		runs->count++;
	}
	runs->to = to;
}

static inline void compare_words(struct runs *runs, uint32_t at, const void *now, uint32_t n)
{
	if (n && memcmp(now, runs->before + at, n * sizeof(word)))
		add_runs(runs, at, now, n);
}

static inline void compare_word(struct runs *runs, uint32_t at, word now)
{
	if (now != runs->before[at])
		add_runs(runs, at, &now, 1);
}

static void compare_post(struct runs *runs, const struct post *post)
{
	uint32_t at = POST_WORDS, sge = POST_WORDS + post->nwr * WR_WORDS;

	compare_words(runs, 0, post, WORD_OF(post, wr));
	for (uint32_t i = 0; i < post->nwr; i++, at += WR_WORDS)
		compare_words(runs, at, &post->wr[i], WORD_OF(wr, sge));
	for (uint32_t i = 0; i < post->nwr; i++) {
		compare_words(runs, sge, post->wr[i].sge, post->wr[i].nsge * SGE_WORDS);
		sge += post->wr[i].nsge * SGE_WORDS;
	}
}

static void compare_completion(struct runs *runs, uint32_t at, const struct wc *wc)
{
	const word *words = (const word *)wc;

	compare_words(runs, at, wc, WORD_OF(wc, request.n));
	compare_word(runs, at + WORD_OF(wc, request_index), words[WORD_OF(wc, request_index)]);
	compare_word(runs, at + WORD_OF(wc, posted_at), (word)posted_at(wc));
}

static void compare_poll(struct runs *runs, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	const word *words = (const word *)poll;
	uint32_t at = POLL_WORDS, requests = POLL_WORDS + poll->nwc * WC_WORDS;

	compare_words(runs, 0, poll, WORD_OF(poll, empty));
	compare_word(runs, WORD_OF(poll, nwc), words[WORD_OF(poll, nwc)]);
	for (uint32_t i = 0; i < poll->nwc; i++, at += WC_WORDS)
		compare_completion(runs, at, &poll->wc[i]);
	for (uint32_t i = 0; i < poll->nwc; i++)
		compare_word(runs, requests + i, post_number_of(event, &poll->wc[i]));
}

/* What may differ in a poll that is the last one again: what was matched. */
static void compare_matched(struct runs *runs, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	uint32_t at = POLL_WORDS, requests = POLL_WORDS + poll->nwc * WC_WORDS;

	for (uint32_t i = 0; i < poll->nwc; i++, at += WC_WORDS) {
		const struct wc *wc = &poll->wc[i];
		const word *words = (const word *)wc;

		compare_words(runs, at + WORD_OF(wc, qp), words + WORD_OF(wc, qp),
			      WORD_OF(wc, request.n) - WORD_OF(wc, qp));
		compare_word(runs, at + WORD_OF(wc, request_index),
			     words[WORD_OF(wc, request_index)]);
		compare_word(runs, at + WORD_OF(wc, posted_at), (word)posted_at(wc));
	}
	for (uint32_t i = 0; i < poll->nwc; i++)
		compare_word(runs, requests + i, post_number_of(event, &poll->wc[i]));
}

size_t bytecode_find_runs(word *to, word *before, const struct trace_event *event,
			  uint16_t *ret_nruns)
{
	struct runs runs = { before, to, 0 };

	if (event->kind == TRACE_POLL && event->again)
		compare_matched(&runs, event);
	else if (event->kind == TRACE_POLL)
		compare_poll(&runs, event);
	else if (event->kind == TRACE_POST && !event->again)
		compare_post(&runs, event->post);
	else if (event->kind == TRACE_NOTIFY)
		compare_words(&runs, 0, event->notify, NOTIFY_WORDS);
	*ret_nruns = runs.count;
	return (size_t)(runs.to - to);
}
