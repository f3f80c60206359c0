#pragma once
/*
 * Internals of an excerpt: excerpt.c writes the file, excerpt_rows.c the control plane,
 * excerpt_data.c posts and polls, excerpt_payload.c payload, excerpt_rest.c the rest. Not
 * thread-safe.
 */
#include "core/store/db/sql.h"
#include "core/store/excerpt/excerpt.h"
#include "core/store/read/trace.h"

/*
 * The included posts and polls of a thread, as runs, and which of their requests and completions
 * are excluded.
 */
struct excerpt_included {
	struct excerpt_run {
		uint64_t first, last;
	} * runs;
	size_t nruns;
	struct excerpt_row {
		uint64_t n;
		uint32_t i;
	} * left_out;
	size_t nleft_out;
};

struct excerpt_copy {
	struct trace *trace;
	const struct excerpt *excerpt;
	sqlite3 *from, *to;
	const char *path;   /* of @from */
	bool plain;         /* @from is unpacked */
	bool has_payload;   /* @from has bytes of messages */
	sqlite3_stmt *call; /* statement: has an included call returned? */
	uint64_t *events;   /* by thread: number of included events, without carried ones */
	uint32_t nthreads;
	bool *stacks; /* by id: is it used by an included event? */
	uint32_t nstacks;
};

static inline void excerpt_need_stack(struct excerpt_copy *copy, uint64_t stack)
{
	if (stack && stack <= copy->nstacks)
		copy->stacks[stack - 1] = true;
}

/* Count an included event of @thread. */
static inline void excerpt_count(struct excerpt_copy *copy, uint32_t thread, uint64_t n)
{
	const struct thread *t = trace_thread(copy->trace, thread);

	if (t && thread <= copy->nthreads)
		copy->events[thread - 1] += n > t->carried;
}

/* Is @item included, and not after excerpt->until? */
bool excerpt_has(const struct excerpt_copy *copy, const struct excerpt_item *item);

/* Copy the included rows of the control plane. */
int excerpt_copy_rows(struct excerpt_copy *copy);

/* Copy the stacks that included events use. Call it last. */
int excerpt_copy_stacks(struct excerpt_copy *copy);

/* Copy the other rows to which included ones refer. Call it after posts and polls. */
int excerpt_complete(struct excerpt_copy *copy);

/* Copy the posts and polls of @thread, and its poll counts. */
int excerpt_copy_data(struct excerpt_copy *copy, uint32_t thread);

/* Copy the payload of the rows in @kept. */
int excerpt_copy_payload(struct excerpt_copy *copy, uint32_t thread,
			 const struct excerpt_included *kept);
