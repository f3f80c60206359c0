/*
 * The settings of a recording of a program that runs already: the defaults of `verbatim record`
 */
#include "cli/record/record_running.h"

#include "cli/common.h"
#include "cli/record/recording.h"
#include "core/wire/log.h"

enum { RING_BYTES = 4 << 20 };

int record_running_program(const struct recording_running *running, const char *path,
			   const char *name, bool soft)
{
	struct recording_settings set = {
		.running = running,
		.path = path,
		.program = (char *[]){ (char *)(uintptr_t)name, NULL },
		.soft = soft,
		.ring_bytes = RING_BYTES,
		.max_wait = SESSION_MAX_WAIT * 1000000000ll,
		.on_full = ON_FULL_WAIT,
		.quiet = common.verbosity == LOG_QUIET,
		.retention.path = path,
	};

	set.retention.quiet = set.quiet;
	return recording_run(&set);
}
