#pragma once
/*
 * Shared by the files of verbatim replay. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/trace/slice.h"
#include "replay/replay.h"

struct tolerate;
struct trace;

struct replay_settings {
	struct replay_options replay;
	const char *device;
	const char *report, *tolerate, *output;
	struct slice slice;
	uint32_t loop, warmup;
	unsigned int format;  /* enum replay_format */
	unsigned int persona; /* enum replay_persona */
	int64_t deadline;
	bool fail_fast, allow_partial, wait;
};

enum replay_persona { PERSONA_RECORDED, PERSONA_NONE };
enum replay_format { REPLAY_TEXT, REPLAY_JSON, REPLAY_JUNIT };

/*
 * Replay @trace in this process, once or as often as was asked, and print its report. @path and
 * @part, which may be NULL, say what it is. Returns the exit status.
 */
int replay_here(struct trace *trace, const struct replay_settings *set, const char *path,
		const char *part, struct tolerate *tolerate);
