#pragma once
/*
 * What a reduced trace must still show, and whether a trace shows it. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/store/db/ids.h"

struct trace;

enum { GOAL_COMPLAINT = 256, GOAL_NAME = 64, GOAL_VALUE = 96 };

enum goal_kind {
	GOAL_STATUS,     /* a completion's, which a replay gives, too */
	GOAL_DIVERGENCE, /* of a replay */
	GOAL_FINDING,    /* of check */
};

struct goal {
	enum goal_kind kind;
	struct event_id id; /* of a completion or a divergence; thread 0: the first */
	uint32_t i;         /* of a completion */
	bool indexed;       /* @i was given */
	int status;
	char field[GOAL_NAME], replayed[GOAL_VALUE], request[GOAL_NAME]; /* of a divergence; "" */
	char rule[GOAL_NAME], object[GOAL_NAME];                         /* of a finding; "" */
	uint32_t process;                                                /* 0: any */
	size_t made;                                                     /* peers, in the whole */
	struct text rules; /* of errors in the whole: " LIFE-001 MKEY-003 " */
	bool replays;      /* a finding's: the whole replays without a divergence, so parts must */
};

/*
 *	status of T:N = STATUS
 *	divergence [at T:N] [FIELD]
 *	RULE [of OBJECT[/PROCESS]]
 *
 * 0, or -EINVAL with @complaint filled.
 */
int goal_read(const char *text, struct goal *ret_goal, char complaint[GOAL_COMPLAINT]);

/* The completion of a status in @trace: 0, or -ENOENT with @complaint filled, or -errno. */
int goal_find(struct goal *goal, struct trace *trace, char complaint[GOAL_COMPLAINT]);

/* "completion 1:60[0] with IBV_WC_REM_ACCESS_ERR" */
const char *goal_text(const struct goal *goal, char text[GOAL_COMPLAINT]);

/* The arguments of the command that shows it of @path; the last is NULL. */
enum { GOAL_ARGUMENTS = 24 };
struct goal_how {
	const char *device, *faults, *timeout; /* as for `verbatim replay`; NULL: its default */
};
void goal_command(const struct goal *goal, const struct goal_how *how, const char *path,
		  const char *argv[GOAL_ARGUMENTS]);

/* A finding asks for a replay, too: what has it is to happen, not only to be told. */
void goal_replay_command(const struct goal_how *how, const char *path,
			 const char *argv[GOAL_ARGUMENTS]);
bool goal_replays(struct goal *goal, bool whole, int exit, const char *json, size_t n);

/*
 * Does @json, which that command printed, show it? With @whole it fills what @goal leaves open,
 * so that others show the very same. @exit is the command's status.
 */
bool goal_shown(struct goal *goal, bool whole, int exit, const char *json, size_t n);

void goal_fini(struct goal *goal);

/* Why the whole does not show it, of the same text. */
void goal_explain(const struct goal *goal, int exit, const char *json, size_t n,
		  char complaint[GOAL_COMPLAINT]);
