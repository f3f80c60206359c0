#pragma once
/*
 * Internals of `verbatim reduce`: reduce.c has the command, reduce_steps.c the order of steps,
 * reduce_items.c what they remove, reduce_trials.c the trials, reduce_state.c what remains of a
 * stopped reduction. Not thread-safe.
 */
#include <signal.h>

#include "cli/quantity.h"
#include "cli/reduce/goal.h"
#include "cli/reduce/trial.h"
#include "cli/reduce/units.h"
#include "core/base/map.h"

enum { SHOW_NS = 1000000000, WAIT_NS = 2000000, GRACE = 3 };

struct settings {
	const char *keep, *path;
	struct goal_how how;
	uint32_t jobs;
	int64_t deadline, patience;
	bool json;
};

struct connections;

enum item_kind {
	ITEM_PROCESS,
	ITEM_CONNECTION,
	ITEM_THREAD,
	ITEM_IDLE,
	ITEM_OBJECT,
	ITEM_MESSAGES,
	ITEM_OTHERS,
};

struct reduction {
	const struct settings *set;
	struct goal goal;
	struct trace *trace; /* the smallest trace so far, before @gone and @until are applied */
	struct units units;
	struct removal gone;              /* what was removed from the trace for good */
	struct removal tried[TRIALS_MAX]; /* removed in a trial */
	struct excerpt_place until, next; /* the end; the end in a trial */
	struct trial trials[TRIALS_MAX];
	uint64_t left[TRIALS_MAX];             /* by trial: hash of what remains in the trace */
	struct map failed;                     /* hashes of trials that did not show the goal */
	enum item_kind kind;                   /* the kind of items that are removed now */
	const struct connections *connections; /* of @trace */
	struct goal_how how;                   /* how trials are run */
	char timeout[QUANTITY_TEXT];           /* of their replays */
	const char *source;                    /* name of the whole trace */
	char folder[TRIAL_PATH / 2], smallest[TRIAL_PATH];
	struct excerpt_size first, size; /* of the whole trace; of the smallest so far */
	uint64_t ntrials, begin, shown;
	int64_t patience;
	bool found;       /* @smallest is the path of a smaller trace */
	size_t step, run; /* step 0: the coarse steps; run: length of runs to resume with, 0: all */
};

/*
 * The state of a reduction beside its output, so that the same command can continue it. 0 or -errno
 * after log_err().
 */
int state_write(const struct reduction *r);
void state_remove(const struct reduction *r);

/* Read the state of the same reduction of a trace with the size r->first. False: there is none. */
bool state_read(struct reduction *r);

/* Set by a signal: the smallest trace so far is the result. */
extern volatile sig_atomic_t reduce_stopped;

/* Must the reduction end? */
bool reduce_is_over(const struct reduction *r);

/* Wait until a trial has ended. 0 or -errno; -EINTR: it must end. */
int reduce_wait(struct reduction *r, struct trial *trial, struct trial_end *ret_end);

/* Split r->trace, from which nothing was removed yet, into units. 0 or -errno after log_err(). */
int reduce_open(struct reduction *r);
void reduce_close(struct reduction *r);

/* Write the trace without @gone up to @until as @path. 0 or -errno after log_err(). */
int reduce_write(struct reduction *r, struct removal *gone, struct excerpt_place until,
		 const char *path, struct excerpt_size *ret_size);

/* The index of completion r->goal.i in its poll, of which others may have been removed. */
uint32_t reduce_goal_index(const struct reduction *r);

/*
 * Run trials of the first @n of r->tried; the first that shows the goal becomes the smallest trace.
 * Returns its index; @n: none; or -errno.
 */
int reduce_try(struct reduction *r, size_t n);

/* Remove items of one kind. 1: something was removed; 0; or -errno. */
int reduce_items(struct reduction *r, enum item_kind kind);

/* Reduce as far as possible, or until it must end. 0 or -errno after log_err(). */
int reduce_all(struct reduction *r);
