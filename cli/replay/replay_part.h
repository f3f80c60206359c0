#pragma once
/*
 * Files of a replay beside the trace: the slice that it replays, and the recording of itself. One
 * thread.
 */
#include "cli/part/slice.h"

struct arguments;
struct trace;

/* The file that a slice is written to, in a private directory. */
struct replay_part {
	char dir[256], path[272];
};

/* Write the slice to a private file. 0, or the exit status; then there is no file. */
int replay_part_make(const struct slice *slice, const char *path, struct trace *trace,
		     struct replay_part *ret_part);
void replay_part_remove(const struct replay_part *part);

/*
 * Exec `verbatim record -o @output` of the same command, @again: its arguments before the options
 * were reordered. Returns an exit status on failure.
 */
int replay_part_record(const char *output, const char *device, char **again);

/* Is this process the recorded replay? */
bool replay_part_is_recorded(void);
