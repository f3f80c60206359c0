#pragma once
/*
 * Verbs that failed, and asynchronous events that report a loss.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/fact.h"

struct model;
struct failed_verbs;

int failed_verbs_new(struct trace *trace, struct fact_list *facts,
		     struct failed_verbs **ret_failed);

/* Accepts NULL. */
void failed_verbs_free(struct failed_verbs *failed);

/* A call of the application has returned; the model has seen it. */
void failed_verbs_note_return(struct failed_verbs *failed, struct model *model,
			      const struct trace_event *event);

/*
 * The last failure of @process that is not a fact, since programs expect it, as
 * "ibv_create_cq_ex(context1) = EOPNOTSUPP at 1:23"; NULL: none. A failure because nothing had come
 * yet (EAGAIN) counts only if it was the @last verb. Valid until the next call.
 */
const char *failed_verbs_last_expected(struct failed_verbs *failed, uint32_t process,
				       struct event_id last);

/* The last creation of @process that returned NULL, unless a later one succeeded. */
struct null_result {
	struct event_id id; /* thread 0: none */
	enum verb verb;
	int error;
};

struct null_result failed_verbs_last_null(const struct failed_verbs *failed, uint32_t process);

/* A post, poll or notification has failed. */
void failed_verbs_note_data(struct failed_verbs *failed, struct model *model,
			    const struct trace_event *event);
