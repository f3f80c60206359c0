#pragma once
/*
 * The layout of bytecode: shared by the files that write and read it.
 *
 *	chunk: | op waits runs | op waits runs | op waits whole | ...
 *
 * An op begins a step, and has the fields in which most steps differ. A run replaces some of the
 * words of its shape; `whole` has all of them, and the kind of the shape. The words of a shape are
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
#include "replay/schedule/bytecode.h"

enum {
	BYTECODE_CHUNK = 1 << 16, /* bytes; a longer step has a chunk of its own */
	/* steps with longer shapes, or beyond the limit, are written whole, as shape 0 */
	SHAPE_WORDS = 4096,
	SHAPES_MAX = 1 << 16, /* shape 0 */
	SHAPES_BYTES = 1 << 25,
	RECENT_SHAPES = 64,
};

typedef uint64_t word __attribute__((may_alias)); /* may overlay structures */

#define WORDS(bytes) (((bytes) + 7) / 8)
#define NO_TEXT      UINT64_MAX

struct op {
	uint32_t bytes; /* of the step */
	uint32_t shape;
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

/* The fields that are the same in all steps of a shape. */
struct shape_kind {
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

struct shape;          /* bytecode_write.c */
struct shape_instance; /* bytecode_read.c */

struct player_code {
	struct bytecode *bytecode;
	struct chunk *first, *last;
	uint64_t last_seq;
	/* written */
	struct map shapes; /* hash of a shape's kind, to its index */
	struct shape *shape;
	uint32_t nshapes, shapes_size;
	uint32_t recent[RECENT_SHAPES]; /* the last shape of an object, looked at first; 0: none */
	/* read */
	struct chunk *chunk; /* the chunk that is read; freed afterwards */
	const char *at, *end;
	char *buffer; /* memory for a chunk of the file */
	size_t buffer_size;
	struct shape_instance **instances;
	uint32_t ninstances;
	uint32_t player;
} __attribute__((aligned(CACHE_LINE)));

struct bytecode {
	size_t memory, in_memory; /* bytes: the limit, and those of chunks */
	size_t shapes_bytes;
	struct spill spill;
	uint64_t steps;
	int64_t time;
	size_t bytes;
	word *words, *runs; /* words and runs of the step that is being written */
	size_t words_size;
	uint32_t players;
	struct player_code code[];
};

/*
 * Did the polling thread itself post the request? The posts of the completions are stored after
 * them; for such a post only the distance is stored.
 */
static inline bool is_near(const struct wc *wc, uint32_t thread)
{
	return wc->request.thread == thread;
}

void player_code_fini_read(struct player_code *code);

/*
 * bytecode_words.c. Determine the shape of an event; the number of words of a call is known only to
 * bytecode_write_words().
 */
void bytecode_describe(const struct trace_event *event, struct shape_kind *ret_kind);

/* Write all words of an event to bytecode->words. 0 or -ENOMEM. */
int bytecode_write_words(struct bytecode *bytecode, const struct trace_event *event,
			 struct shape_kind *kind);

/*
 * Find the words of an event that differ from those of its shape's last step, @before, and update
 * the latter; words that bytecode_write_words() sets to 0 are skipped. Returns the length of the
 * runs in words: bytecode_most_runs() at most.
 */
size_t bytecode_find_runs(word *to, word *before, const struct trace_event *event,
			  uint16_t *ret_nruns);

/* A run has one word more than it replaces. */
static inline size_t bytecode_most_runs(uint32_t nwords)
{
	return 2 * (size_t)nwords;
}
