#pragma once
/*
 * Memory: the buffers of the C program, and which region or window a key means.
 *
 * Regions that overlapped in the recorded process lie in one buffer. One thread.
 */
#include "cli/emit/program.h"

/* A region, a window, or what one has become by ibv_rereg_mr() or binding it again. */
struct region {
	uint32_t object, process;
	uint64_t addr, length; /* in the process; length 0: it has no memory there */
	uint64_t iova;         /* what requests name for addr */
	uint32_t lkey, rkey;
	int64_t from, to; /* ns; INT64_MAX */
};

/* Memory that regions cover. */
struct buffer {
	uint32_t process, number;
	uint64_t addr, length;
};

struct memory {
	struct region *regions;
	size_t nregions;
	struct buffer *buffers;
	size_t nbuffers;
};

/* Learn from a call that has returned, or a post. 0 or -errno. */
int memory_learn(struct memory *memory, struct program *program, const struct trace_event *event);

/* After all events: make the buffers. 0 or -ENOMEM. */
int memory_finish(struct memory *memory);
void memory_fini(struct memory *memory);

/* What @key meant in @process at @time; the last that it did; NULL. @remote: it is an rkey. */
const struct region *memory_find(const struct memory *memory, uint32_t process, uint32_t key,
				 bool remote, int64_t time);

/* The last region that is made of @object at @time; NULL. */
const struct region *memory_of(const struct memory *memory, uint32_t object, int64_t time);

/* Does @region still mean something at @time? */
bool memory_is_live(const struct region *region, int64_t time);

/* The name of a buffer. */
const char *memory_name(const struct program *program, const struct buffer *buffer, char text[64]);

/*
 * Add the address @addr that a request names: in the buffer of @region, else in any of @process,
 * else as it is. @pointer: a char *, not a number.
 */
void memory_add_address(const struct memory *memory, struct program *program,
			const struct region *region, uint32_t process, uint64_t addr, bool pointer);

/* Does a buffer of @process have that? */
bool memory_has(const struct memory *memory, uint32_t process, uint64_t addr);
