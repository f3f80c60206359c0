#pragma once
/*
 * What a replay has of its own beside the trace: the slice that it replays, as a file, and the
 * recording of itself. One thread.
 */
#include "cli/part/slice.h"

struct arguments;
struct trace;

/* The file that a slice is written to, in a directory of its own. */
struct replay_part {
	char dir[256], path[272];
};

/* Write the slice where nobody else sees it. 0, or the exit status; then there is no file. */
int replay_part_make(const struct slice *slice, const char *path, struct trace *trace,
		     struct replay_part *ret_part);
void replay_part_remove(const struct replay_part *part);

/*
 * Become `verbatim record -o @output` of the same command, @again: its arguments before the options
 * were put in order. Returns an exit status where that fails.
 */
int replay_part_record(const char *output, const char *device, char **again);

/* Are we what that runs? */
bool replay_part_is_recorded(void);
