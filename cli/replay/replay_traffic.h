#pragma once
/*
 * The traffic that a replay as load sends: of a trace, of a text, or of several traces. Not
 * thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/part/slice.h"
#include "replay/load/load.h"

/* Changes to the recorded traffic. */
struct traffic_changes {
	uint32_t ranks;  /* --scale-ranks; 0: as recorded */
	double size;     /* --size; 0: as recorded */
	const char *mix; /* --mix; NULL: one trace or text */
};

/*
 * Read the traffic of @path, a trace or a model, for @command, and join its classes. @slice may be
 * NULL; @memory limits the memory for the times of requests. Returns 0, or the exit status after an
 * error message.
 */
int traffic_open(const char *command, const char *path, const struct slice *slice, uint64_t memory,
		 struct load *ret_load);

/* The same with all changes; @path is NULL with --mix. */
int traffic_make(const char *path, const struct slice *slice, const struct traffic_changes *changes,
		 uint64_t memory, struct load *ret_load);

/* Is @text, of --mix, like "a.db:3,b.db:1"? */
bool traffic_check_mix(const char *text);
