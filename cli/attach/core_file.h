#pragma once
/*
 * A core file as the memory, threads and mappings of a process that has ended.
 *
 * Every number in it may be wrong. Not thread-safe.
 */
#include <stdint.h>

#include "cli/attach/memory.h"
#include "cli/attach/target.h"

struct stop;

struct core_segment {
	uint64_t start, offset, bytes; /* offset, bytes: in the file, which may be incomplete */
};

struct core_file {
	int fd; /* -1: closed */
	uint64_t size;
	struct core_segment *segments; /* by address */
	size_t nsegments;
	struct memory_range *ranges;
	size_t nranges;
	uint64_t missing; /* bytes that the file lacks at its end: it was truncated */
	int signal;       /* the signal that ended the process; 0: none, as in a core of gcore */
};

/*
 * Open the core at @path: its threads, mappings and process number in *@ret_target; the registers
 * of each thread in *@ret_stops. 0; or after log_err(), -EINVAL if it is not a core of this
 * architecture or too damaged, or another -errno, with nothing to close.
 */
int core_file_open(const char *path, struct core_file *ret_core, struct target *ret_target,
		   struct stop **ret_stops);
void core_file_close(struct core_file *core);

/* The memory in a core, for as long as @core is open. */
struct memory core_file_memory(const struct core_file *core);
