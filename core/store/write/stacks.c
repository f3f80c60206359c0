/*
 * Call stacks, each stored once
 *
 * A program calls verbs from few places: the stacks seen so far are in a hash table
 * with open addressing, by process and by the newest of their modules (an address
 * is another place in another image, or after another file was mapped there).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/write/writer_priv.h"

enum { STACKS_MAX = 1 << 20 }; /* in the table: more than programs have; further ones get no id */

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

/* The stack's place, or the empty one where it would be. */
static struct known_stack *find_place(struct known_stack *table, size_t size, uint64_t hash,
				      uint32_t process, uint32_t modules, const uint64_t *frames,
				      uint32_t n)
{
	size_t i = hash & (size - 1);

	while (table[i].id && !is_same_stack(&table[i], hash, process, modules, frames, n))
		i = (i + 1) & (size - 1);
	return &table[i];
}

static bool is_over(const struct writer *writer, const struct known_stack *stack)
{
	return writer->processes[stack->process - 1].over;
}

/* Make room for one more; drops the stacks of processes that have ended. */
static int grow_table(struct writer *writer)
{
	size_t size = 1024, left = 0;
	struct known_stack *table;

	if (writer->nstacks * 2 < writer->stacks_size)
		return 0;
	for (size_t i = 0; i < writer->stacks_size; i++)
		left += writer->stacks[i].id && !is_over(writer, &writer->stacks[i]);
	while (size < left * 4)
		size *= 2;
	table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < writer->stacks_size; i++) {
		struct known_stack *s = &writer->stacks[i];

		if (s->id && is_over(writer, s))
			free(s->frames);
		else if (s->id)
			*find_place(table, size, s->hash, s->process, s->modules, s->frames,
				    s->nframes) = *s;
	}
	free(writer->stacks);
	writer->stacks = table;
	writer->stacks_size = size;
	writer->nstacks = left;
	return 0;
}

static int store_stack(struct writer *writer, const struct known_stack *stack)
{
	int err = WRITER_RUN(writer, stack, "uuuu", stack->id, stack->process, stack->nframes,
			     stack->modules);

	for (uint32_t i = 0; i < stack->nframes && !err; i++)
		err = WRITER_RUN(writer, frame, "uui", stack->id, i, stack->frames[i]);
	return err;
}

int stacks_number(struct writer *writer, uint32_t process, uint32_t modules, const uint64_t *frames,
		  uint32_t nframes, uint32_t *ret_stack)
{
	uint64_t hash = hash_of(process, modules, frames, nframes);
	struct known_stack *stack;

	*ret_stack = 0;
	if (!nframes)
		return 0;
	if (grow_table(writer))
		return writer_fail(writer, -ENOMEM);
	stack = find_place(writer->stacks, writer->stacks_size, hash, process, modules, frames,
			   nframes);
	if (!stack->id && writer->nstacks >= STACKS_MAX)
		return 0;
	if (!stack->id) {
		uint64_t *copy = malloc(nframes * sizeof(*copy));

		if (!copy)
			return writer_fail(writer, -ENOMEM);
		memcpy(copy, frames, nframes * sizeof(*copy));
		*stack = (struct known_stack){ hash, ++writer->stack_ids, process, modules, nframes,
					       copy };
		writer->nstacks++;
		if (store_stack(writer, stack))
			return writer->err;
	}
	*ret_stack = stack->id;
	return 0;
}

int stacks_site(struct writer *writer, struct thread_log *log, const struct event_site *event)
{
	size_t bytes = event->head.words * 8u;
	uint32_t *more;

	if (bytes < sizeof(*event) || event->nframes > (bytes - sizeof(*event)) / 8 || !event->site)
		return -EBADMSG;
	if (event->site >= log->nsites) {
		more = realloc(log->sites, (event->site + 1u) * sizeof(*more));
		if (!more)
			return writer_fail(writer, -ENOMEM);
		memset(more + log->nsites, 0, (event->site + 1u - log->nsites) * sizeof(*more));
		log->sites = more;
		log->nsites = event->site + 1u;
	}
	return stacks_number(writer, log->process, event->modules, (const void *)(event + 1),
			     event->nframes, &log->sites[event->site]);
}

void stacks_fini(struct writer *writer)
{
	for (size_t i = 0; i < writer->stacks_size; i++)
		free(writer->stacks[i].frames);
	free(writer->stacks);
}
