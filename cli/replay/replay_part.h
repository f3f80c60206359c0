#pragma once
/*
 * Recording a replay. Not thread-safe.
 */
#include <stdbool.h>

/*
 * Exec `verbatim record -o @output` with the same command: @again, its arguments before they were
 * reordered. Returns an exit status on failure.
 */
int replay_part_record(const char *output, const char *device, char **again);

/* Is this process the recorded replay? */
bool replay_part_is_recorded(void);
