#pragma once
/*
 * The layout of a tape: shared by the files that write and read it.
 *
 *	chunk: | op waits runs | op waits runs | op waits whole | ...
 *
 * An op begins a step, and has the fields in which most steps differ. A run replaces some of the
 * words of its form; `whole` has all of them, and the kind of the form. The words of a form are
 *
 *	post      struct post, struct wr ..., struct sge ...
 *	poll      struct poll, struct wc ..., the posts of their requests
 *	arming    struct notify
 *	call      struct call, lengths of its texts, the texts
 *	others    the pointer of the event
 *
 * with 0 in place of pointers and numbers of requests, which the reader fills in.
 */
#include "core/base/lines.h"
#include "core/base/map.h"
#include "replay/schedule/spill.h"
#include "replay/schedule/tape.h"

enum {
	TAPE_CHUNK = 1 << 16, /* bytes; a longer step has a chunk of its own */
	/* steps with longer forms, or beyond the limit, are written whole, as form 0 */
	FORM_WORDS = 4096,
	FORMS_MAX = 1 << 16, /* form 0 */
	FORMS_BYTES = 1 << 25,
	RECENT_FORMS = 64,
};

typedef uint64_t word __attribute__((may_alias)); /* may overlay structures */

#define WORDS(bytes) (((bytes) + 7) / 8)
#define NO_TEXT      UINT64_MAX

struct op {
	uint32_t bytes; /* of the step */
	uint32_t form;
	uint16_t nwaits, nruns;
	bool whole;
	uint64_t n;
	int64_t time;
	uint64_t seq;
	uint64_t empty; /* polls */
};

struct run {
	uint32_t at, n; /* words */
};

/* The fields that are the same in all steps of a form. */
struct form_kind {
	enum trace_event_kind kind;
	enum verb verb;
	uint32_t thread, process, object;
	uint32_t count; /* requests or completions */
	uint32_t nsge;
	uint32_t nwords;
	bool inner, carried;
} __attribute__((aligned(8)));

struct chunk {
	struct chunk *next;
	char *bytes; /* NULL: */
	uint64_t at; /* in the file */
	size_t used;
};

struct form;          /* tape_write.c */
struct form_instance; /* tape_read.c */

struct tape {
	struct tapes *tapes;
	struct chunk *first, *last;
	uint64_t last_seq;
	/* written */
	struct map forms; /* hash of a form's kind, to its index */
	struct form *form;
	uint32_t nforms, forms_size;
	uint32_t recent[RECENT_FORMS]; /* the last form of an object, looked at first; 0: none */
	/* read */
	struct chunk *chunk; /* the chunk that is read; freed afterwards */
	const char *at, *end;
	char *buffer; /* memory for a chunk of the file */
	size_t buffer_size;
	struct form_instance **instances;
	uint32_t ninstances;
	uint32_t player;
} __attribute__((aligned(CACHE_LINE)));

struct tapes {
	size_t memory, in_memory; /* bytes: the limit, and those of chunks */
	size_t forms_bytes;
	struct spill spill;
	uint64_t steps;
	int64_t time;
	size_t bytes;
	word *words, *runs; /* words and runs of the step that is being written */
	size_t words_size;
	uint32_t players;
	struct tape tape[];
};

/*
 * Did the polling thread itself post the request? The posts of the completions are stored after
 * them; for such a post only the distance is stored.
 */
static inline bool is_near(const struct wc *wc, uint32_t thread)
{
	return wc->request.thread == thread;
}

void tape_fini_read(struct tape *tape);

/*
 * tape_words.c. Determine the form of an event; the number of words of a call is known only to
 * tape_write_words().
 */
void tape_describe(const struct trace_event *event, struct form_kind *ret_kind);

/* Write all words of an event to tapes->words. 0 or -ENOMEM. */
int tape_write_words(struct tapes *tapes, const struct trace_event *event, struct form_kind *kind);

/*
 * Find the words of an event that differ from those of its form's last step, @before, and update
 * the latter; words that tape_write_words() sets to 0 are skipped. Returns the length of the runs
 * in words: tape_most_runs() at most.
 */
size_t tape_find_runs(word *to, word *before, const struct trace_event *event, uint16_t *ret_nruns);

/* A run has one word more than it replaces. */
static inline size_t tape_most_runs(uint32_t nwords)
{
	return 2 * (size_t)nwords;
}
