#pragma once
/*
 * Memory: the buffers of the C program, and the regions and windows of keys.
 *
 * Regions that overlapped in the recorded process share one buffer. Not thread-safe.
 */
#include "cli/emit/program.h"

/* A region or a window; a new one for each ibv_rereg_mr() or bind. */
struct region {
	uint32_t object, process;
	uint64_t addr, length; /* addr: in the process; length 0: no memory of the process */
	uint64_t iova;         /* the address that requests use for the memory at @addr */
	uint32_t lkey, rkey;
	int64_t from, to; /* ns; INT64_MAX */
};

/* Memory that regions cover. */
struct buffer {
	uint32_t process, number;
	uint64_t addr, length;
};

enum { MEMORY_PAGE = 4096 };

struct memory {
	struct region *regions;
	size_t nregions;
	struct buffer *buffers;
	size_t nbuffers;
};

/* Process a call that has returned, or a post. 0 or -errno. */
int memory_learn(struct memory *memory, struct program *program, const struct trace_event *event);

/* After all events: create the buffers. 0 or -ENOMEM. */
int memory_finish(struct memory *memory);
void memory_fini(struct memory *memory);

/*
 * The region of @key in @process at @time, else the last region that had @key before; NULL: none.
 * @remote: it is an rkey.
 */
const struct region *memory_find(const struct memory *memory, uint32_t process, uint32_t key,
				 bool remote, int64_t time);

/* The last region created from @object at @time; NULL. */
const struct region *memory_of(const struct memory *memory, uint32_t object, int64_t time);

/* Is @region valid at @time? */
bool memory_is_live(const struct region *region, int64_t time);

/* Is buffer @i an array of the C program? Others are too large, or do not begin with a page. */
bool memory_is_static(const struct memory *memory, size_t i);

/* The name of a buffer. */
const char *memory_name(const struct program *program, const struct buffer *buffer, char text[64]);

/*
 * Add the address @addr of a request: in the buffer of @region, else in any of @process, else
 * unchanged. @pointer: as a char *, not a number.
 */
void memory_add_address(const struct memory *memory, struct program *program,
			const struct region *region, uint32_t process, uint64_t addr, bool pointer);

/* Is @addr in a buffer of @process? */
bool memory_has(const struct memory *memory, uint32_t process, uint64_t addr);
