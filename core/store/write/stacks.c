/*
 * Call stacks, each stored once
 *
 * A program calls verbs from few places. The stacks seen so far are in a hash table with open
 * addressing. Its key includes the process and the newest module of the stack, since the same
 * address may belong to another file in another image, or after another file was mapped there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/write/writer_priv.h"

/* maximum in the table: more than programs have; further stacks get no id */
enum { STACKS_MAX = 1 << 20 };

static uint64_t hash_of(uint32_t process, uint32_t modules, const uint64_t *frames, uint32_t n)
{
	uint64_t hash = (process + ((uint64_t)modules << 32)) * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ frames[i]) * 0xff51afd7ed558ccdull, hash ^= hash >> 32;
	return hash;
}

static bool is_same_stack(const struct known_stack *stack, uint64_t hash, uint32_t process,
			  uint32_t modules, const uint64_t *frames, uint32_t n)
{
	return stack->hash == hash && stack->process == process && stack->modules == modules &&
	       stack->nframes == n && !memcmp(stack->frames, frames, n * sizeof(*frames));
}

/* The entry of the stack, or the empty entry for it. */
static struct known_stack **find_place(struct known_stack **table, size_t size, uint64_t hash,
				       uint32_t process, uint32_t modules, const uint64_t *frames,
				       uint32_t n)
{
	size_t i = hash & (size - 1);

	while (table[i] && !is_same_stack(table[i], hash, process, modules, frames, n))
		i = (i + 1) & (size - 1);
	return &table[i];
}

/*
 * Can the stack be forgotten? Not if it has rows in a trace that deletes events: to delete them it
 * must be found again.
 */
static bool is_stack_unused(const struct writer *writer, const struct known_stack *stack)
{
	const struct known_process *process = processes_find(writer, stack->process);

	return !stack->sites && (writer->needed ? !stack->stored : !process || process->over);
}

static void free_stack(struct known_stack *stack)
{
	if (stack)
		free(stack->frames);
	free(stack);
}

/* Build a table of @size entries without the stacks that can be forgotten. */
static int rebuild_table(struct writer *writer, size_t size)
{
	struct known_stack **table = calloc(size, sizeof(struct known_stack *));

	if (!table)
		return -ENOMEM;
	writer->nstacks = 0;
	for (size_t i = 0; i < writer->stacks_size; i++) {
		struct known_stack *s = writer->stacks[i];

		if (s && is_stack_unused(writer, s)) {
			free_stack(s);
		} else if (s) {
			*find_place(table, size, s->hash, s->process, s->modules, s->frames,
				    s->nframes) = s;
			writer->nstacks++;
		}
	}
	free(writer->stacks);
	writer->stacks = table;
	writer->stacks_size = size;
	return 0;
}

/* Make space for one more stack. */
static int grow_table(struct writer *writer)
{
	size_t size = 1024, left = 0;

	if (writer->nstacks * 2 < writer->stacks_size)
		return 0;
	for (size_t i = 0; i < writer->stacks_size; i++)
		left += writer->stacks[i] && !is_stack_unused(writer, writer->stacks[i]);
	while (size < left * 4)
		size *= 2;
	return rebuild_table(writer, size);
}

static int store_stack(struct writer *writer, struct known_stack *stack)
{
	int err = WRITER_RUN(writer, stack, "uuuu", stack->id, stack->process, stack->nframes,
			     stack->modules);

	for (uint32_t i = 0; i < stack->nframes && !err; i++)
		err = WRITER_RUN(writer, frame, "uui", stack->id, i, stack->frames[i]);
	stack->stored = true;
	return err;
}

uint32_t stacks_note_use(struct writer *writer, struct known_stack *stack)
{
	if (writer->time > stack->used)
		stack->used = writer->time;
	if (!stack->stored)
		store_stack(writer, stack);
	return stack->id;
}

static struct known_stack *make_stack(struct writer *writer, const struct known_stack *like,
				      const uint64_t *frames)
{
	struct known_stack *stack = malloc(sizeof(*stack));
	uint64_t *copy = malloc(like->nframes * sizeof(*copy));

	if (!stack || !copy) {
		free(stack);
		free(copy);
		return NULL;
	}
	memcpy(copy, frames, like->nframes * sizeof(*copy));
	*stack = *like;
	stack->id = ++writer->stack_ids;
	stack->frames = copy;
	writer->nstacks++;
	return stack;
}

/* Find or add a stack. NULL: there are too many, or writer->err has the reason. */
static struct known_stack *find_stack(struct writer *writer, uint32_t process, uint32_t modules,
				      const uint64_t *frames, uint32_t nframes)
{
	struct known_stack like = { .hash = hash_of(process, modules, frames, nframes),
				    .process = process,
				    .modules = modules,
				    .nframes = nframes,
				    .used = INT64_MIN };
	struct known_stack **place;

	if (grow_table(writer)) {
		writer_fail(writer, -ENOMEM);
		return NULL;
	}
	place = find_place(writer->stacks, writer->stacks_size, like.hash, process, modules, frames,
			   nframes);
	if (!*place && writer->nstacks < STACKS_MAX) {
		*place = make_stack(writer, &like, frames);
		if (!*place)
			writer_fail(writer, -ENOMEM);
	}
	return *place;
}

int stacks_find_or_add(struct writer *writer, uint32_t process, uint32_t modules,
		       const uint64_t *frames, uint32_t nframes, uint32_t *ret_stack)
{
	struct known_stack *stack =
		nframes ? find_stack(writer, process, modules, frames, nframes) : NULL;

	*ret_stack = stack ? stacks_note_use(writer, stack) : 0;
	return nframes ? writer->err : 0;
}

int stacks_note_site(struct writer *writer, struct thread_log *log, const struct event_site *event)
{
	size_t bytes = event->head.words * 8u;
	struct known_stack **more, *stack;

	if (bytes < sizeof(*event) || event->nframes > (bytes - sizeof(*event)) / 8 || !event->site)
		return -EBADMSG;
	if (event->site >= log->nsites) {
		more = realloc(log->sites, (event->site + 1u) * sizeof(struct known_stack *));
		if (!more)
			return writer_fail(writer, -ENOMEM);
		memset(more + log->nsites, 0,
		       (event->site + 1u - log->nsites) * sizeof(struct known_stack *));
		log->sites = more;
		log->nsites = event->site + 1u;
	}
	stack = event->nframes ? find_stack(writer, log->process, event->modules,
					    (const void *)(event + 1), event->nframes)
			       : NULL;
	if (log->sites[event->site])
		log->sites[event->site]->sites--;
	log->sites[event->site] = stack;
	if (stack) {
		stack->sites++;
		stacks_note_use(writer, stack);
	}
	return writer->err;
}

void stacks_free_sites(struct thread_log *log)
{
	for (uint32_t i = 0; i < log->nsites; i++)
		if (log->sites[i])
			log->sites[i]->sites--;
	free(log->sites);
	log->sites = NULL;
	log->nsites = 0;
}

/* Deleting stacks */

struct stack_marks {
	struct map by_id; /* to struct known_stack */
};

static void mark_stack(void *arg, uint32_t id)
{
	const struct stack_marks *marking = arg;
	uint64_t stack;

	if (map_get(&marking->by_id, id, &stack))
		((struct known_stack *)(uintptr_t)stack)->marked = true;
}

static int mark_forks(struct writer *writer, struct stack_marks *marking)
{
	sqlite3_stmt *stmt = writer_statement(writer, STATEMENT_fork_stacks);
	int err;

	while ((err = sql_step(stmt)) > 0)
		mark_stack(marking, sql_u32(stmt, 0));
	sqlite3_reset(stmt);
	return err;
}

/* Mark the stacks of calls that have not returned: their rows come later. */
static void mark_open_calls(const struct writer *writer, struct stack_marks *marking)
{
	for (size_t i = 0; i < writer->nlogs; i++)
		for (size_t k = 0; writer->logs[i] && k < writer->logs[i]->npending; k++)
			mark_stack(marking, writer->logs[i]->pending[k].stack);
}

static int mark_stacks(struct writer *writer, int64_t time)
{
	struct stack_marks marking = { 0 };
	int err = 0;

	for (size_t i = 0; i < writer->stacks_size && !err; i++) {
		struct known_stack *stack = writer->stacks[i];

		if (!stack || !stack->stored)
			continue;
		stack->marked = stack->used >= time;
		err = map_put(&marking.by_id, stack->id, (uintptr_t)stack);
	}
	if (!err) {
		mark_open_calls(writer, &marking);
		needed_stacks(writer->needed, mark_stack, &marking);
		cut_mark_stacks(writer, mark_stack, &marking);
		err = mark_forks(writer, &marking);
	}
	map_fini(&marking.by_id);
	return err;
}

int stacks_forget(struct writer *writer, int64_t time)
{
	uint64_t before = writer->gone.stacks;
	int err = mark_stacks(writer, time);

	for (size_t i = 0; i < writer->stacks_size && !err; i++) {
		struct known_stack *stack = writer->stacks[i];

		if (!stack || !stack->stored || stack->marked)
			continue;
		stack->stored = false;
		writer->gone.stacks++;
		err = WRITER_RUN(writer, drop_stack, "u", stack->id);
		if (!err)
			err = WRITER_RUN(writer, drop_frames, "u", stack->id);
	}
	if (!err && writer->gone.stacks != before)
		err = rebuild_table(writer, writer->stacks_size);
	return writer_fail(writer, err);
}

static bool has_frame(const struct known_stack *stack, const struct old_module *module)
{
	for (uint32_t i = 0; i < stack->nframes; i++)
		if (stack->frames[i] >= module->start && stack->frames[i] < module->end)
			return true;
	return false;
}

/* Does the process have files of process @of? A forked process has those of its parent. */
static bool has_files_of(const struct writer *writer, uint32_t process, uint32_t of)
{
	while (process > of) {
		const struct known_process *p = processes_find(writer, process);

		process = p && p->parent < process ? p->parent : 0;
	}
	return process == of;
}

bool stacks_have_module(const struct writer *writer, const struct old_module *module)
{
	for (size_t i = 0; i < writer->stacks_size; i++) {
		const struct known_stack *stack = writer->stacks[i];

		if (stack && stack->modules < module->serial && has_frame(stack, module) &&
		    has_files_of(writer, stack->process, module->process))
			return true;
	}
	return false;
}

void stacks_fini(struct writer *writer)
{
	for (size_t i = 0; i < writer->stacks_size; i++)
		free_stack(writer->stacks[i]);
	free(writer->stacks);
}
