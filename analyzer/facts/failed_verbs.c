/*
 * Verbs that failed, and asynchronous events that report a loss
 *
 * A program that searches for the maximum of inline data creates a queue pair again and again, with
 * a smaller value after each failure:
 *
 * 	ibv_create_qp(max_inline_data 2048)	EINVAL	asked again: taken back
 * 	ibv_create_qp(max_inline_data 1536)	EINVAL	asked again: taken back
 * 	ibv_create_qp(max_inline_data 1024)	a queue pair
 *
 * So the fact of a refusal is removed when the same thread asks for less, and so is the last
 * refusal of a search. Such a failure may still end a program that did not expect it: the last one
 * of each process is remembered.
 */
#include "analyzer/facts/failed_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/cm_refused.h"
#include "analyzer/facts/place.h"
#include "analyzer/model/model.h"
#include "analyzer/model/reason.h"
#include "analyzer/model/refused_mask.h"
#include "core/base/vec.h"
#include "core/store/db/args_visit.h"
#include "core/store/read/trace.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"
#include "core/wire/probe.h"

static bool get_argument(const void *call, const struct field_info *field, int64_t *ret_value)
{
	return args_value(args_field(((const struct call *)call)->args, field), ret_value);
}

enum { PLACES = 64, LEAST_REFUSALS = 3 /* refusals in a row */, TEXT = 256, LAST_TEXT = 128 };

/*
 * Does a program make such a call to see whether the device has a feature? Not with a structure
 * that it did not initialise.
 */
static bool is_probe(const struct trace_event *event, int error)
{
	const struct refused refused = { .event = event };
	char text[TEXT];

	return probe_is_expected(event->call->verb, error, get_argument, event->call) &&
	       (verb_infos[event->call->verb].effect != EFFECT_CREATE ||
		!refused_explain_mask(&refused, text, sizeof(text)));
}

/* The last refused call of a thread, and the max_inline_data that it requested. */
struct search {
	size_t refusal; /* 1 + index of the fact; 0: there is none, or it was removed again */
	int64_t inline_data;
	unsigned int steps;
};

struct failed_verbs {
	struct trace *trace;
	struct fact_list *facts;
	struct search *searches; /* by thread */
	size_t nsearches;
	char **expected; /* by process: its last failure that is not a fact; NULL: none */
	size_t nexpected;
	/* by process: its last call that failed as no event or completion had come */
	struct premature_call {
		struct event_id id; /* thread 0: none */
		enum verb verb;
		int error;
	} * not_yet;
	size_t nnot_yet;
	struct null_result *nulls; /* by process */
	size_t nnulls;
	char text[LAST_TEXT]; /* of failed_verbs_last_expected() */
	struct {
		uint32_t stack;
		uint64_t key;
	} places[PLACES]; /* the keys computed last */
};

int failed_verbs_new(struct trace *trace, struct fact_list *facts, struct failed_verbs **ret_failed)
{
	struct failed_verbs *failed = calloc(1, sizeof(*failed));

	if (!failed)
		return log_err(-ENOMEM, "failed verbs");
	failed->trace = trace;
	failed->facts = facts;
	*ret_failed = failed;
	return 0;
}

void failed_verbs_free(struct failed_verbs *failed)
{
	if (!failed)
		return;
	for (size_t i = 0; i < failed->nexpected; i++)
		free(failed->expected[i]);
	free(failed->expected);
	free(failed->not_yet);
	free(failed->nulls);
	free(failed->searches);
	free(failed);
}

static uint64_t find_place(struct failed_verbs *failed, uint32_t stack)
{
	if (failed->places[stack % PLACES].stack != stack) {
		failed->places[stack % PLACES].stack = stack;
		failed->places[stack % PLACES].key = place_key(failed->trace, stack);
	}
	return failed->places[stack % PLACES].key;
}

/*
 * Hash a text without its numbers: names of objects, keys and sizes differ among similar failures.
 */
static void hash_words(struct hash *hash, const char *text)
{
	static const char digits[] = "0123456789", hex[] = "0123456789abcdef";

	while (*text) {
		size_t n = strcspn(text, digits);

		hash_add(hash, text, n);
		text += n;
		text += strncmp(text, "0x", 2) ? strspn(text, digits) : 2 + strspn(text + 2, hex);
	}
}

/* Hash an argument if it is an enumerator or has flags. */
static int hash_value(void *arg, const struct field_info *field, const char *path,
		      const struct json_node *value, const struct json_node *other)
{
	int64_t number;

	(void)other;
	if ((field->kind == FIELD_ENUM || field->kind == FIELD_FLAGS) &&
	    args_value(value, &number)) {
		hash_add(arg, path, strlen(path) + 1);
		hash_add(arg, &number, sizeof(number));
	}
	return 0;
}

/*
 * Hash the reason and the arguments of a failure: a helper function that serves several purposes
 * fails for several reasons at one place. A post to a full queue, which may be retried a million
 * times, has one reason: 0.
 */
static uint64_t hash_failure(struct model *model, const struct trace_event *event, int error)
{
	bool call = event->kind == TRACE_CALL || event->kind == TRACE_RETURN;
	char text[TEXT];
	struct hash hash;

	if (!call && error == ENOMEM)
		return 0;
	hash_begin(&hash, 0);
	hash_words(&hash, reason_call(model, event, text, sizeof(text)));
	if (reason_of(model, event, text, sizeof(text)))
		hash_words(&hash, text);
	if (call)
		args_visit_values(&verb_infos[event->call->verb].args, args_root(event->call->args),
				  NULL, "", hash_value, &hash);
	return hash_end(&hash);
}

static struct fact *count_failure(struct failed_verbs *failed, struct model *model,
				  const struct trace_event *event, enum verb verb, uint32_t stack,
				  int error)
{
	uint64_t alike = hash_failure(model, event, error);
	uint64_t key =
		fact_key((uint64_t)verb << 32 | (uint32_t)error, find_place(failed, stack), alike);
	struct fact *fact = fact_count(failed->facts, FACT_FAILED, key, event->process);
	char text[TEXT];

	if (!fact || fact->what)
		return fact;
	fact->event = event->id;
	fact->time = event->time;
	fact->thread = event->id.thread;
	fact->stack = stack;
	fact->verb = verb;
	fact->error = error;
	fact->alike = alike;
	fact->what = strdup(reason_call(model, event, text, sizeof(text)));
	if (reason_of(model, event, text, sizeof(text)))
		fact->because = strdup(text);
	return fact;
}

/* No event yet, or no such entry: few programs end because of these errors. */
static bool is_retry_error(int error)
{
	return error == EAGAIN || error == EINTR || error == EINPROGRESS || error == ENODATA;
}

/* librdmacm asks for ECE by itself when it connects, and connects without it. */
static bool is_optional(enum verb verb)
{
	return verb == VERB_query_ece || verb == VERB_set_ece;
}

static void note_expected(struct failed_verbs *failed, struct model *model,
			  const struct trace_event *event, int error)
{
	char what[TEXT], why[TEXT], id[32], **place;
	const char *because = reason_of(model, event, why, sizeof(why));
	const char *name = strerrorname_np(error);

	place = is_optional(event->call->verb)
			? NULL
			: vec_at(failed->expected, failed->nexpected, event->process);
	if (!place)
		return;
	free(*place);
	if (asprintf(place, "%s = %s at %s%s%s", reason_call(model, event, what, sizeof(what)),
		     name ?: "an error", event_id_text(event->id, id), because ? ", " : "",
		     because ?: "") < 0)
		*place = NULL;
}

static void note_retry_error(struct failed_verbs *failed, const struct trace_event *event,
			     int error)
{
	while (failed->nnot_yet <= event->process)
		if (!vec_push(failed->not_yet, failed->nnot_yet))
			return;
	failed->not_yet[event->process] = (struct premature_call){ .id = event->id,
								   .verb = event->call->verb,
								   .error = error };
}

/* Remember a creation without a result, until another one of that kind of object has one. */
static void note_result(struct failed_verbs *failed, const struct trace_event *event, int error)
{
	const struct verb_info *info = &verb_infos[event->call->verb];
	struct null_result *last;

	if (info->fail != FAIL_NULL || (!error && event->process >= failed->nnulls))
		return;
	last = vec_at(failed->nulls, failed->nnulls, event->process);
	if (!last)
		return;
	if (error > 0)
		*last = (struct null_result){ event->id, event->call->verb, error };
	else if (last->id.thread && verb_infos[last->verb].object == info->object)
		last->id.thread = 0;
}

struct null_result failed_verbs_last_null(const struct failed_verbs *failed, uint32_t process)
{
	return process < failed->nnulls ? failed->nulls[process] : (struct null_result){ 0 };
}

/* If the failed verb was the last verb of all, the program ended because of it. */
static const char *name_last_error(struct failed_verbs *failed, const struct premature_call *last)
{
	char id[32];

	snprintf(failed->text, sizeof(failed->text), "%s() = %s at %s", verb_infos[last->verb].name,
		 strerrorname_np(last->error) ?: "an error", event_id_text(last->id, id));
	return failed->text;
}

const char *failed_verbs_last_expected(struct failed_verbs *failed, uint32_t process,
				       struct event_id last)
{
	const struct premature_call *not_yet =
		process < failed->nnot_yet ? &failed->not_yet[process] : NULL;

	if (not_yet && last.thread && not_yet->id.thread == last.thread && not_yet->id.n == last.n)
		return name_last_error(failed, not_yet);
	return process < failed->nexpected ? failed->expected[process] : NULL;
}

/* Searches for the most inline data */

static struct search *search_of(struct failed_verbs *failed, uint32_t thread)
{
	return vec_at(failed->searches, failed->nsearches, thread);
}

static struct fact *last_refusal(struct failed_verbs *failed, const struct search *search)
{
	return search->refusal ? &failed->facts->all[search->refusal - 1] : NULL;
}

static bool asks_for_inline(const struct call *call, int64_t *ret_bytes)
{
	return (call->verb == VERB_create_qp || call->verb == VERB_create_qp_ex) &&
	       (args_get(call->args, ARG(qp_init_attr.cap.max_inline_data), ret_bytes) ||
		args_get(call->args, ARG(qp_init_attr_ex.cap.max_inline_data), ret_bytes));
}

/* The thread has retried with less than was refused: undo the fact. */
static void undo_refusal(struct failed_verbs *failed, const struct trace_event *event)
{
	struct search *search;
	struct fact *fact;
	int64_t bytes;

	if (event->id.thread >= failed->nsearches || !asks_for_inline(event->call, &bytes))
		return;
	search = &failed->searches[event->id.thread];
	fact = last_refusal(failed, search);
	if (bytes >= search->inline_data)
		search->steps = 0;
	else if (fact)
		fact_uncount(failed->facts, fact);
	search->refusal = 0;
}

static void note_refusal(struct failed_verbs *failed, const struct trace_event *event,
			 struct fact *fact)
{
	struct search *search;
	int64_t bytes;

	if (!fact || !asks_for_inline(event->call, &bytes) || !bytes)
		return;
	search = search_of(failed, event->id.thread);
	if (!search)
		return;
	search->inline_data = bytes;
	if (++search->steps < LEAST_REFUSALS)
		search->refusal = (size_t)(fact - failed->facts->all) + 1;
	else
		fact_uncount(failed->facts, fact); /* even if another refusal follows */
}

/* Events of devices */

static bool is_fatal(const char *type)
{
	static const char *const fatal[] = { "IBV_EVENT_CQ_ERR",       "IBV_EVENT_QP_FATAL",
					     "IBV_EVENT_QP_REQ_ERR",   "IBV_EVENT_QP_ACCESS_ERR",
					     "IBV_EVENT_PATH_MIG_ERR", "IBV_EVENT_DEVICE_FATAL",
					     "IBV_EVENT_SRQ_ERR",      "IBV_EVENT_WQ_FATAL" };

	for (size_t i = 0; type && i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (!strcmp(type, fatal[i]))
			return true;
	return false;
}

/* Fill in what @fact reports about the first call of its kind. */
static void fill_first(struct fact *fact, const struct trace_event *event, enum verb verb)
{
	fact->event = event->id;
	fact->time = event->call->end;
	fact->thread = event->id.thread;
	fact->stack = event->call->stack;
	fact->verb = verb;
}

static void note_fatal_event(struct failed_verbs *failed, struct model *model,
			     const struct trace_event *event)
{
	const char *type = args_text(event->call->out, ARG(event.event_type));
	char text[TEXT], name[64];
	struct fact *fact;
	int64_t value = 0;

	if (!is_fatal(type))
		return;
	args_get(event->call->out, ARG(event.event_type), &value);
	fact = fact_count(failed->facts, FACT_FATAL, fact_key((uint64_t)value, event->process, 0),
			  event->process);
	if (!fact || fact->what)
		return;
	fill_first(fact, event, event->call->verb);
	fact->error = (int)value;
	snprintf(text, sizeof(text), "%s%s%s", type,
		 reason_element(model, event, name, sizeof(name)) ? " of " : "", name);
	fact->what = strdup(text);
}

/* Events of librdmacm */

/* clang-format off */
/* An event that reports the failure of an operation that a successful call began. */
static const struct cm_failure {
	const char *event;
	enum verb verb;
	int error; /* if the status is a reason of IBA 12.6.7 instead of an errno */
} cm_failures[] = {
	{ "RDMA_CM_EVENT_ADDR_ERROR",      VERB_rdma_resolve_addr,   EHOSTUNREACH },
	{ "RDMA_CM_EVENT_ROUTE_ERROR",     VERB_rdma_resolve_route,  EHOSTUNREACH },
	{ "RDMA_CM_EVENT_CONNECT_ERROR",   VERB_rdma_connect,        ECONNABORTED },
	{ "RDMA_CM_EVENT_UNREACHABLE",     VERB_rdma_connect,        ETIMEDOUT },
	{ "RDMA_CM_EVENT_REJECTED",        VERB_rdma_connect,        ECONNREFUSED },
	{ "RDMA_CM_EVENT_MULTICAST_ERROR", VERB_rdma_join_multicast, EIO },
};
/* clang-format on */

static const struct cm_failure *find_cm_failure(const char *event)
{
	for (size_t i = 0; event && i < sizeof(cm_failures) / sizeof(cm_failures[0]); i++)
		if (!strcmp(cm_failures[i].event, event))
			return &cm_failures[i];
	return NULL;
}

/* A datagram request that got a reply is not unreachable, regardless of the name of the event. */
static int cm_failure_error(const struct cm_failure *row, int64_t status)
{
	if (status < 0)
		return (int)-status;
	return status && !strcmp(row->event, "RDMA_CM_EVENT_UNREACHABLE") ? ECONNREFUSED
									  : row->error;
}

/* The call whose operation failed: rdma_accept() if this end accepted the connection. */
static enum verb find_cm_verb(const struct model *model, const struct trace_event *event,
			      const struct cm_failure *row)
{
	const struct life *id;
	int64_t handle = 0;

	if (row->verb != VERB_rdma_connect || !args_get(event->call->out, ARG(event.id), &handle))
		return row->verb;
	id = model_life(model, event->process, OBJECT_cm_id, (uint64_t)handle);
	return id && id->cm_call.verb == VERB_rdma_accept ? VERB_rdma_accept : row->verb;
}

static void name_cm_failure(struct failed_verbs *failed, const struct trace_event *event,
			    struct fact *fact, const struct cm_failure *row)
{
	const char *to = args_text(event->call->out, ARG(event.dst_addr));
	const struct object *id = NULL;
	int64_t handle = 0;

	if (to && !strcmp(to, "none"))
		to = NULL;
	if (args_get(event->call->out, ARG(event.id), &handle))
		id = trace_object_at(failed->trace, event->process, OBJECT_cm_id, (uint64_t)handle,
				     event->call->end);
	if (asprintf(&fact->what, "%s of %s(%s%s%s)", row->event, verb_infos[fact->verb].name,
		     id && id->name ? id->name : "?", to ? " to " : "", to ?: "") < 0)
		fact->what = NULL;
}

static void note_cm_failure(struct failed_verbs *failed, const struct model *model,
			    const struct trace_event *event)
{
	const struct args *out = event->call->out;
	const struct cm_failure *row = find_cm_failure(args_text(out, ARG(event.event)));
	struct fact *fact;
	int64_t status = 0;
	enum verb verb;

	if (!row)
		return;
	args_get(out, ARG(event.status), &status);
	verb = find_cm_verb(model, event, row);
	fact = fact_count(failed->facts, FACT_FAILED,
			  fact_key((uint64_t)verb << 32 | (uint32_t)status,
				   find_place(failed, event->call->stack), 1),
			  event->process);
	if (!fact || fact->what)
		return;
	fill_first(fact, event, verb);
	fact->error = cm_failure_error(row, status);
	fact->because = cm_refused_reason(failed->trace, model, event, row->event, status);
	name_cm_failure(failed, event, fact, row);
}

void failed_verbs_note_return(struct failed_verbs *failed, struct model *model,
			      const struct trace_event *event)
{
	int error = reason_error(event);

	note_result(failed, event, error);
	if (failed->nsearches)
		undo_refusal(failed, event);
	if (event->call->verb == VERB_get_async_event && !error)
		note_fatal_event(failed, model, event);
	if (event->call->verb == VERB_rdma_get_cm_event && !error)
		note_cm_failure(failed, model, event);
	if (error && is_probe(event, error)) {
		if (!is_retry_error(error))
			note_expected(failed, model, event, error);
		else
			note_retry_error(failed, event, error);
	} else if (error) {
		struct fact *fact = count_failure(failed, model, event, event->call->verb,
						  event->call->stack, error);

		note_refusal(failed, event, fact);
		if (!fact || !fact->count)
			note_expected(failed, model, event, error);
	}
}

void failed_verbs_note_data(struct failed_verbs *failed, struct model *model,
			    const struct trace_event *event)
{
	bool post = event->kind == TRACE_POST;
	enum verb verb = post                        ? event->post->verb
			 : event->kind == TRACE_POLL ? event->poll->verb
						     : VERB_req_notify_cq;

	count_failure(failed, model, event, verb, moment_of(event).stack, reason_error(event));
}
