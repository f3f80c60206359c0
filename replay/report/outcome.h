#pragma once
/*
 * The results of a replay: counts, divergences, and events left out.
 *
 * A divergence is a cause or a consequence. It is a consequence if the state of its object differs
 * since an earlier divergence, or if such an object explains its object (outcome_relate_objects()).
 * Causes are listed and counted; consequences are counted with their cause.
 *
 * Any thread, except for creating, printing and freeing it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/store/read/trace.h"

enum { OUTCOME_PRINTED = 20 }; /* divergences and reasons in the text; all are counted */

struct inferred_list;
struct alive_objects;
struct rounds;

enum outcome_count {
	OUTCOME_CALLS,    /* replayed control verbs */
	OUTCOME_POSTS,    /* calls of ibv_post_send() and the like */
	OUTCOME_REQUESTS, /* work requests in these posts */
	OUTCOME_POLLS,
	OUTCOME_COMPLETIONS, /* recorded completions that were compared with a replayed one */
	OUTCOME_PAYLOADS,    /* received contents that were compared with recorded ones */
	OUTCOME_NOTIFIES,
	OUTCOME_EVENTS,   /* completion and asynchronous events */
	OUTCOME_UNPOLLED, /* completions that the recorded program did not poll */
	OUTCOME_FAULTS,   /* recorded errors that were injected: data/faults.c */
	OUTCOME_SEEN,     /* recorded events that were processed */
	OUTCOME_COMPILED, /* recorded events that were compiled before the replay */
	OUTCOME_COUNTS,
};

/* The meaning for a program that relied on the recorded result. */
enum divergence_class {
	DIVERGENCE_OTHER,
	DIVERGENCE_FAILED_RECORDED, /* a recorded failure succeeds in the replay */
	DIVERGENCE_FAILED_REPLAYED, /* a recorded success fails in the replay */
	DIVERGENCE_CLASSES,
};

struct divergence {
	struct event_id event;
	enum verb verb;       /* VERB_COUNT: none; a process may end at any event */
	const char *field;    /* path: "ret", "wc[0].status", "attr.qp_state" */
	const char *recorded; /* as text */
	const char *replayed;
	struct event_id about;  /* the post of the request; 0:0 if not useful */
	struct event_id sender; /* the post of the received message; 0:0: none */
	/*
	 * The differing object: the queue pair of a completion, the queue of a post, the object of
	 * a call; and another object whose failure would explain it, such as the sender of a
	 * datagram. 0: none
	 */
	uint32_t object, peer;
	enum divergence_class class;
	bool breaks;  /* the object's state differs from the recorded one from here on */
	bool symptom; /* it is an effect of another difference: a flush, a missing completion */
	bool remote;  /* a symptom whose cause is reported by the other end's completion */
};

struct outcome;
struct tolerate;

/* The name of the verb of @divergence; never NULL. */
const char *divergence_verb(const struct divergence *divergence);

int outcome_new(struct outcome **ret_outcome);

/* Accepts NULL. */
void outcome_free(struct outcome *outcome);

/*
 * The trace and the device of the replay; texts are copied, @trace gives names of objects (NULL:
 * none).
 */
void outcome_set_trace(struct outcome *outcome, const char *path, struct trace *trace);
void outcome_set_device(struct outcome *outcome, const char *names);

/* The devices are not the recorded ones: their limits may differ. */
void outcome_set_other_device(struct outcome *outcome);
bool outcome_is_other_device(const struct outcome *outcome);

/* The counters of the calling thread in @of. */
struct outcome_tally {
	const struct outcome *of;
	uint64_t *counts;
};

extern _Thread_local struct outcome_tally outcome_tally;

/* Count for a thread that has no counters of its own yet, or that shares them. */
void outcome_count_first(struct outcome *outcome, enum outcome_count what, uint64_t n);

/* Add @n to a counter, which other threads may read meanwhile. */
static inline void outcome_count(struct outcome *outcome, enum outcome_count what, uint64_t n)
{
	uint64_t *at;

	if (__builtin_expect(outcome_tally.of != outcome, 0)) {
		outcome_count_first(outcome, what, n);
		return;
	}
	at = &outcome_tally.counts[what];
	__atomic_store_n(at, *at + n, __ATOMIC_RELAXED);
}

/* Count one post of @requests work requests. */
static inline void outcome_count_post(struct outcome *outcome, uint64_t requests)
{
	outcome_count(outcome, OUTCOME_POSTS, 1);
	outcome_count(outcome, OUTCOME_REQUESTS, requests);
}

uint64_t outcome_total(const struct outcome *outcome, enum outcome_count what);
void outcome_count_call(struct outcome *outcome, enum verb verb);

/* Report a divergence, of which a copy is stored. */
void outcome_add_divergence(struct outcome *outcome, const struct divergence *divergence);

/*
 * A recorded error was injected: if later results of its object differ, the error is their cause,
 * and @divergence is reported; its replayed value is not set. Stores a copy.
 */
void outcome_note_injected(struct outcome *outcome, const struct divergence *divergence);

/*
 * A failure of @from explains differences at @to, such as those of a queue pair at its peer or its
 * CQ.
 */
void outcome_relate_objects(struct outcome *outcome, uint32_t from, uint32_t to);

/* A value of @object is as recorded: an earlier one that differed explains no later difference. */
void outcome_note_agreement(struct outcome *outcome, uint32_t object);

/* The state of the object is as recorded again, as after a RESET of a queue pair. */
void outcome_note_repair(struct outcome *outcome, uint32_t object);

/* Would a difference at @object follow from a reported one? Then waits for @object are short. */
bool outcome_is_explained(struct outcome *outcome, uint32_t object);

/* @object does not exist, or is not replayed, because of @from. */
void outcome_inherit_cause(struct outcome *outcome, uint32_t object, uint32_t from);

/*
 * The event was left out; @why is a sentence without its full stop. Copied. If a divergence
 * explains the failure of @object (0: none), this is one of its consequences.
 */
void outcome_note_skipped(struct outcome *outcome, struct event_id event, enum verb verb,
			  uint32_t object, const char *why);

/* Everything is compiled; replaying starts. */
void outcome_set_compiled(struct outcome *outcome);
bool outcome_is_compiled(const struct outcome *outcome);

/* A note for the reader, printed once. */
void outcome_note(struct outcome *outcome, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The synthesized ends. Takes ownership of the list's contents. */
void outcome_set_inferred(struct outcome *outcome, struct inferred_list *list);

/* The objects that are alive at the end of the replay. Takes ownership of @moment. */
void outcome_set_alive(struct outcome *outcome, struct alive_objects *moment);

/* The outcome is one of several rounds that the report summarizes; copied. */
void outcome_set_rounds(struct outcome *outcome, const struct rounds *rounds);

/* Seconds of replaying, as passed to outcome_set_times(). */
double outcome_seconds(const struct outcome *outcome);

/* The replay covers a part of the trace, "until 1:60": the report begins with it. Copied. */
int outcome_set_part(struct outcome *outcome, const char *part);

/* Events that are missing in the trace, so that the replay cannot be judged as a whole. */
void outcome_note_gap(struct outcome *outcome, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Count a tolerated difference; @reason must stay valid. */
void outcome_note_tolerated(struct outcome *outcome, const char *reason);

/* The durations of the recording, of compiling and of replaying, in seconds. */
void outcome_set_times(struct outcome *outcome, double recorded, double compiled, double replayed);

/* Set the longest successful wait, in ns, of a replay by one thread. */
void outcome_note_wait(struct outcome *outcome, int64_t ns);

/*
 * Close the report: later differences are not in it, since they may be an effect of ending. @why
 * follows "partial, ", and must stay valid: "ended by SIGTERM".
 */
void outcome_stop(struct outcome *outcome, const char *why);

/* The first member of struct outcome, so that outcome_stopped() is inline. */
struct outcome_state {
	bool stopped;
};

static inline bool outcome_stopped(const struct outcome *outcome)
{
	const struct outcome_state *state = (const struct outcome_state *)outcome;

	return __atomic_load_n(&state->stopped, __ATOMIC_RELAXED);
}

/* Tolerate divergences that match lines of @tolerate, and their consequences. Borrowed; or NULL. */
void outcome_set_tolerate(struct outcome *outcome, struct tolerate *tolerate);

/* Stop at the first divergence. */
void outcome_set_fail_fast(struct outcome *outcome);

/* Was nothing left out, is the trace complete, and was it replayed to the end? */
bool outcome_is_whole(const struct outcome *outcome);

/* The number of causes, and of consequences. */
uint64_t outcome_divergences(const struct outcome *outcome);
uint64_t outcome_consequences(const struct outcome *outcome);

/*
 * The first line of the text, without its end of line; and divergence @i < outcome_count_kept() in
 * one line.
 */
void outcome_verdict(const struct outcome *outcome, FILE *to);
size_t outcome_count_kept(const struct outcome *outcome);
void outcome_print_divergence(const struct outcome *outcome, size_t i, FILE *to);
/* NULL: the divergence has become the consequence of a tolerated divergence. */
const struct divergence *outcome_nth_divergence(const struct outcome *outcome, size_t i);

/* "recorded-success-fails" */
const char *outcome_class_name(enum divergence_class class);

/* Reason @i of the events left out, "12 x ibv_post_send, first at 1:60: why"; false: no more. */
bool outcome_print_skip(const struct outcome *outcome, size_t i, FILE *to);

void outcome_text(const struct outcome *outcome, FILE *to);
void outcome_json(const struct outcome *outcome, FILE *to);
