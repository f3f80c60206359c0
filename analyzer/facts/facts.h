#pragma once
/*
 * Failures in a trace, independent of the rules: verbs that failed, calls that never returned,
 * completions in error, processes that were killed, fatal events.
 *
 * Collected in the same pass over the events as the findings; rules may use them. Not thread-safe.
 */
#include "analyzer/facts/cause.h"
#include "analyzer/facts/fact.h"
#include "analyzer/facts/first_errors.h"
#include "analyzer/model/watcher.h"

struct model;
struct facts_work;
struct stalls;
struct delays;

struct facts {
	struct fact_list list;
	struct first_list errors;
	/*
	 * Verbs called by the application, without those that a previous trace has, too; how many
	 * of these failed or have no return in the trace; and completions polled.
	 */
	struct fact_sums {
		uint64_t verbs, failed, unfinished;
		uint64_t completions, in_error, flushed; /* flushed: of those in error */
	} sums;
	bool off[FACT_COUNT]; /* muted */
	struct facts_work *work;
};

/* Returns 0 or -errno after log_err(). */
int facts_new(struct trace *trace, struct facts **ret_facts);

/* Accepts NULL. */
void facts_free(struct facts *facts);

/* The next event; the model has processed it already. Returns 0 or -errno after log_err(). */
int facts_note_event(struct facts *facts, struct model *model, const struct trace_event *event);

/* A request of a post uses memory outside of its region. */
void facts_note_invalid_sge(struct facts *facts, const struct model_key *key);

/* A completion in error that is not a flush; call it before facts_note_event(). */
void facts_complete(struct facts *facts, struct model *model,
		    const struct model_complete *complete);

/* A process has ended, or the trace ends; its objects are still known. */
void facts_note_exit(struct facts *facts, struct model *model, const struct model_exit *end);

/* The last event has been seen. Returns 0 or -errno after log_err(). */
int facts_finish(struct facts *facts, const struct model *model);

/* The cause of an error of facts->errors; NULL: nothing is known. */
const struct cause *facts_cause(const struct facts *facts, const struct first_error *error);

/* What each process waited for at its end: stalls.h. Complete after facts_finish(). */
const struct stalls *facts_stalls(const struct facts *facts);

/* Which ranks were late: delays.h. Complete after facts_finish(). */
const struct delays *facts_delays(const struct facts *facts);

/* The number of facts of a kind; for queue pairs in error, their number. */
uint64_t facts_count(const struct facts *facts, enum fact_kind kind);

/* Is there a bad fact that is not muted and not known? */
bool facts_are_bad(const struct facts *facts);
