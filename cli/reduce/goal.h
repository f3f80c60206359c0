#pragma once
/*
 * What a reduced trace must still reproduce, and whether a trace does. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/store/db/ids.h"

struct trace;

enum { GOAL_COMPLAINT = 256, GOAL_NAME = 64, GOAL_VALUE = 96 };

enum goal_kind {
	GOAL_STATUS,     /* a completion's status, which a replay must also produce */
	GOAL_DIVERGENCE, /* of a replay */
	GOAL_FINDING,    /* of check */
};

struct goal {
	enum goal_kind kind;
	struct event_id id; /* of a completion or a divergence; thread 0: the first */
	uint32_t i;         /* of a completion */
	bool indexed;       /* @i was given */
	int status;
	/* fields of a divergence; "" */
	char field[GOAL_NAME], replayed[GOAL_VALUE], request[GOAL_NAME];
	/* fields of a finding; "" */
	char rule[GOAL_NAME], object[GOAL_NAME];
	uint32_t process; /* 0: any */
	/* synthesized peers, in the whole trace */
	size_t made;
	struct text rules; /* error rules in the whole trace: " LIFE-001 MKEY-003 " */
	/*
	 * for a finding: the whole trace replays without a divergence, so parts must replay without
	 * one, too
	 */
	bool replays;
	bool first;      /* a divergence: the whole trace has no earlier one */
	bool in_vain;    /* a divergence: a recorded completion or event did not come */
	int64_t longest; /* ns: the longest wait of the last replay that reproduced it */
};

/*
 * 	status of T:N = STATUS
 * 	divergence [at T:N] [FIELD]
 * 	RULE [of OBJECT[/PROCESS]]
 *
 * 0, or -EINVAL with @complaint set.
 */
int goal_read(const char *text, struct goal *ret_goal, char complaint[GOAL_COMPLAINT]);

/* The completion with the status in @trace: 0, or -ENOENT with @complaint set, or -errno. */
int goal_find(struct goal *goal, struct trace *trace, char complaint[GOAL_COMPLAINT]);

/* "completion 1:60[0] with IBV_WC_REM_ACCESS_ERR" */
const char *goal_text(const struct goal *goal, char text[GOAL_COMPLAINT]);

/*
 * The arguments of the command that tests @path; the last is NULL. A replay ends once it cannot
 * reproduce the goal any more, mostly at its first divergence.
 */
enum { GOAL_ARGUMENTS = 24 };
struct goal_how {
	const char *device, *faults, *timeout; /* as for `verbatim replay`; NULL: its default */
};
void goal_command(const struct goal *goal, const struct goal_how *how, const char *path,
		  const char *argv[GOAL_ARGUMENTS]);

/* A finding needs a replay, too: the trace must be replayable, not just have the finding. */
void goal_replay_command(const struct goal_how *how, const char *path,
			 const char *argv[GOAL_ARGUMENTS]);
bool goal_replays(struct goal *goal, bool whole, int exit, const char *json, size_t n);

/*
 * Does @json, the output of that command, show the goal? @whole: set the open fields of @goal, so
 * that later traces must reproduce exactly the same. @exit is the command's status.
 */
bool goal_is_shown(struct goal *goal, bool whole, int exit, const char *json, size_t n);

void goal_fini(struct goal *goal);

/*
 * How long a replay of a smaller trace should wait for events that may not come, ns: a multiple of
 * the longest wait in a successful replay, but at most a replay's default.
 */
int64_t goal_timeout(const struct goal *goal);

/* Why the whole trace does not reproduce the goal, from the same output. */
void goal_explain(const struct goal *goal, int exit, const char *json, size_t n,
		  char complaint[GOAL_COMPLAINT]);
