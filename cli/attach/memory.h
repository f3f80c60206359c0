#pragma once
/*
 * The memory of a process, or of a core file.
 *
 * Its contents are untrusted: they may be garbage, and may change between two reads. Not
 * thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Memory that may be read: a mapping. */
struct memory_range {
	uint64_t start, end;
	bool writable;
	bool shared; /* memory of a file that other processes map, too */
};

struct core_file;

struct memory {
	/* Returns the number of bytes from @at on that could be read. */
	size_t (*read)(const struct memory *memory, uint64_t at, void *to, size_t n);
	const struct memory_range *ranges;
	size_t nranges;
	pid_t pid; /* of a process, or */
	const struct core_file *core;
};

/* Read all @n bytes, or return false. */
static inline bool memory_get(const struct memory *memory, uint64_t at, void *to, size_t n)
{
	return memory->read(memory, at, to, n) == n;
}

/* The read() of struct memory for a live process. */
size_t memory_read_process(const struct memory *memory, uint64_t at, void *to, size_t n);

/* The range that contains @at, or NULL. */
const struct memory_range *memory_range_at(const struct memory *memory, uint64_t at);
