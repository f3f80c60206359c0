#pragma once
/*
 * The rings of the recorder in a core file: what each thread did last.
 *
 * Rings are shared memory of files, which the kernel writes into a core only with bit 3 of
 * /proc/PID/coredump_filter. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory;
struct target;

enum { CORE_RINGS_MAX = 256 };

struct core_ring {
	pid_t tid;     /* tid of the ring's last owner */
	char name[16]; /* name of the thread that made the ring */
	uint64_t events;
	int verb;      /* the last verb, enum verb; -1: none */
	bool returned; /* the last verb has returned */
};

struct core_rings {
	struct core_ring *rings;
	size_t n;
	size_t mapped; /* rings that the process had; others are not in the core */
};

/* Read the rings from the @memory of a core with the mappings of @target. 0 or -errno. */
int core_rings_read(const struct target *target, const struct memory *memory,
		    struct core_rings *ret_rings);
void core_rings_fini(struct core_rings *rings);
