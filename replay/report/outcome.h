#pragma once
/*
 * What a replay did, where it differed, and what it left out.
 *
 * A divergence is a cause, or a consequence of one: of an object that is in another state than the
 * recorded since an earlier divergence, or of one that such an object explains. Causes are listed
 * and counted; consequences are counted with their cause.
 *
 * Any thread, but for making, printing and freeing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/store/read/trace.h"

enum { OUTCOME_PRINTED = 20 }; /* divergences and reasons in the text; all are counted */

struct inferred_list;
struct moment;
struct rounds;

enum outcome_count {
	OUTCOME_CALLS,    /* control verbs done again */
	OUTCOME_POSTS,    /* calls of ibv_post_send() and the like */
	OUTCOME_REQUESTS, /* work requests in them */
	OUTCOME_POLLS,
	OUTCOME_COMPLETIONS, /* recorded ones that were compared with one here */
	OUTCOME_PAYLOADS,    /* received contents that were compared with recorded ones */
	OUTCOME_NOTIFIES,
	OUTCOME_EVENTS,   /* completion and asynchronous events */
	OUTCOME_UNPOLLED, /* completions here that the recorded program did not ask for */
	OUTCOME_FAULTS,   /* recorded errors that were caused here, faults.c */
	OUTCOME_SEEN,     /* recorded events that were looked at */
	OUTCOME_COMPILED, /* recorded events that were put in order before that */
	OUTCOME_COUNTS,
};

/* What it means for a program that relied on what was recorded. */
enum divergence_class {
	DIVERGENCE_OTHER,
	DIVERGENCE_FAILED_THERE, /* a recorded failure succeeds in the replay */
	DIVERGENCE_FAILED_HERE,  /* a recorded success fails in the replay */
	DIVERGENCE_CLASSES,
};

struct divergence {
	struct event_id event;
	enum verb verb;       /* VERB_COUNT: none; a process may end anywhere */
	const char *field;    /* path: "ret", "wc[0].status", "attr.qp_state" */
	const char *recorded; /* as text */
	const char *replayed;
	struct event_id about;  /* the post of the request; 0:0 if that does not help */
	struct event_id sender; /* the post of what was received; 0:0 likewise */
	/*
	 * What differs: the queue pair of a completion, the queue of a post, the object of a call;
	 * and another one whose trouble would explain it, such as the sender of a datagram. 0: none
	 */
	uint32_t object, peer;
	enum divergence_class class;
	bool breaks;  /* the object is in another state than the recorded from here on */
	bool symptom; /* it has another reason: a flush, a completion that does not come */
	bool remote;  /* a symptom, whose reason is what the other end's completion says */
};

struct outcome;
struct tolerate;

/* The name of its verb, also where it has none. */
const char *divergence_verb(const struct divergence *divergence);

int outcome_new(struct outcome **ret_outcome);

/* Accepts NULL. */
void outcome_free(struct outcome *outcome);

/* What was replayed, and on what; texts are copied, @trace names objects (NULL: nobody does). */
void outcome_trace(struct outcome *outcome, const char *path, struct trace *trace);
void outcome_device(struct outcome *outcome, const char *names);

/* The devices are not the recorded ones: their limits may differ. */
void outcome_other_device(struct outcome *outcome);
bool outcome_is_other_device(const struct outcome *outcome);

/* Where the calling thread counts for @of. */
struct outcome_tally {
	const struct outcome *of;
	uint64_t *counts;
};

extern _Thread_local struct outcome_tally outcome_tally;

/* The thread's first time, or one of the many that share their counts. */
void outcome_count_first(struct outcome *outcome, enum outcome_count what, uint64_t n);

/* Others may read it. */
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

/* One post of @requests. */
static inline void outcome_posted(struct outcome *outcome, uint64_t requests)
{
	outcome_count(outcome, OUTCOME_POSTS, 1);
	outcome_count(outcome, OUTCOME_REQUESTS, requests);
}

uint64_t outcome_total(const struct outcome *outcome, enum outcome_count what);
void outcome_called(struct outcome *outcome, enum verb verb);

/* Keeps a copy. */
void outcome_divergence(struct outcome *outcome, const struct divergence *divergence);

/* Trouble of @from explains what differs at @to: of a queue pair at its peer, at its CQ. */
void outcome_related(struct outcome *outcome, uint32_t from, uint32_t to);

/*
 * A value of @object is as recorded: if one is not later, the last one that differed does not
 * explain it.
 */
void outcome_agreed(struct outcome *outcome, uint32_t object);

/* The object is in a state as recorded again: a queue pair after RESET. */
void outcome_mended(struct outcome *outcome, uint32_t object);

/* Would a difference at @object follow from a reported one? Then nobody waits long for it. */
bool outcome_is_explained(struct outcome *outcome, uint32_t object);

/* @object is not there, or not driven, because of @from. */
void outcome_inherit(struct outcome *outcome, uint32_t object, uint32_t from);

/*
 * The event was left out; @why is a sentence without its end. Copied. If a divergence explains what
 * happens to @object (0: none), this is one of its consequences.
 */
void outcome_skipped(struct outcome *outcome, struct event_id event, enum verb verb,
		     uint32_t object, const char *why);

/* All is compiled, and is replayed from now on. */
void outcome_compiled(struct outcome *outcome);
bool outcome_is_compiled(const struct outcome *outcome);

/* A note for the reader, printed once. */
void outcome_note(struct outcome *outcome, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The ends that were made because the trace does not have them; takes the list. */
void outcome_inferred(struct outcome *outcome, struct inferred_list *list);

/* What is alive at its end; takes it. */
void outcome_moment(struct outcome *outcome, struct moment *moment);

/* It is one of several rounds, of which the report tells; copied. */
void outcome_rounds(struct outcome *outcome, const struct rounds *rounds);

/* Seconds that playing took: outcome_time(). */
double outcome_seconds(const struct outcome *outcome);

/* The replay is of a part of the trace, "until 1:60": the first line begins with that. Copied. */
int outcome_part(struct outcome *outcome, const char *part);

/* What the trace lacks, so that nobody can say whether it went as recorded. */
void outcome_gap(struct outcome *outcome, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A tolerated difference; @reason must stay valid. */
void outcome_tolerated(struct outcome *outcome, const char *reason);

/* Seconds. */
void outcome_time(struct outcome *outcome, double recorded, double compiled, double replayed);

/*
 * Close the report: what is reported from now on is not in it, since it may be an effect of ending.
 * @why goes on with "partial, ", and must stay valid: "ended by SIGTERM".
 */
void outcome_stop(struct outcome *outcome, const char *why);

/* What an outcome begins with. */
struct outcome_state {
	bool stopped;
};

static inline bool outcome_stopped(const struct outcome *outcome)
{
	const struct outcome_state *state = (const struct outcome_state *)outcome;

	return __atomic_load_n(&state->stopped, __ATOMIC_RELAXED);
}

/* What its lines have is no divergence, nor is what follows from that. Borrowed; or NULL. */
void outcome_tolerate(struct outcome *outcome, struct tolerate *tolerate);

/* Stop at the first divergence. */
void outcome_fail_fast(struct outcome *outcome);

/* Nothing was left out, the trace lacks nothing, and it went to the end. */
bool outcome_is_whole(const struct outcome *outcome);

/* Causes alone. */
uint64_t outcome_divergences(const struct outcome *outcome);
uint64_t outcome_consequences(const struct outcome *outcome);

/* The first line of the text, without its end; and divergence @i < outcome_kept() in one line. */
void outcome_verdict(const struct outcome *outcome, FILE *to);
size_t outcome_kept(const struct outcome *outcome);
void outcome_print_divergence(const struct outcome *outcome, size_t i, FILE *to);
/* NULL: it follows from one that is tolerated. */
const struct divergence *outcome_nth(const struct outcome *outcome, size_t i);

/* "recorded-success-fails" */
const char *outcome_class_name(enum divergence_class class);

/* Reason @i of what was left out, "12 x ibv_post_send, first at 1:60: why"; false: no more. */
bool outcome_print_skip(const struct outcome *outcome, size_t i, FILE *to);

void outcome_text(const struct outcome *outcome, FILE *to);
void outcome_json(const struct outcome *outcome, FILE *to);
