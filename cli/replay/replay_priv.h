#pragma once
/*
 * Shared by the files of verbatim replay. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/part/slice.h"
#include "cli/replay/replay_traffic.h"
#include "replay/two_host/pair.h"
#include "replay/replay.h"

struct arguments;
struct tolerate;
struct trace;

struct replay_settings {
	struct replay_options replay;
	const char *device;
	const char *report, *tolerate, *output, *suite;
	const char *key;          /* of the pair: a file */
	struct pair_options pair; /* neither listen nor peer: everything is replayed on this host */
	struct slice slice;
	uint32_t loop, warmup;
	unsigned int format;  /* enum replay_format */
	unsigned int persona; /* enum replay_persona */
	unsigned int maker;   /* enum replay_maker: of --faults recorded */
	int64_t deadline;
	bool fail_fast, allow_partial, wait;
	bool open_loop; /* --open-loop, or any change of the traffic: the replay is a load */
	struct traffic_changes changes;
};

enum replay_maker { MAKER_DEVICE, MAKER_RECORDER };
enum replay_persona { PERSONA_RECORDED, PERSONA_NONE };
enum replay_format { REPLAY_TEXT, REPLAY_JSON, REPLAY_JUNIT };

/*
 * Replay @trace in this process, once or as often as requested, and print its report. @path and
 * @part, which may be NULL, are its name and description. Returns the exit status.
 */
int replay_in_process(struct trace *trace, const struct replay_settings *set, const char *path,
		      const char *part, struct tolerate *tolerate);

/*
 * --suite: replay all traces of a folder, each on each device. @again are the command's arguments
 * before they were reordered. Returns the exit status.
 */
int suite_replay(const struct replay_settings *set, const struct arguments *arguments,
		 char *const *again);

/*
 * A replay as load: the traffic of a trace or a text, at its times, without a comparison. Do the
 * options or the argument ask for it? @again as above. Returns the exit status.
 */
bool replay_load_is_asked(const struct replay_settings *set, const struct arguments *arguments);
int replay_load(const struct replay_settings *set, const struct arguments *arguments, char **again);
