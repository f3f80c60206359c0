/*
 * Verbs that failed, and asynchronous events that say that something is lost
 *
 * Whoever looks for the most inline data that a device takes asks for a queue pair again and
 * again, with less each time after it was refused:
 *
 *	ibv_create_qp(max_inline_data 2048)	EINVAL	asked again: taken back
 *	ibv_create_qp(max_inline_data 1536)	EINVAL	asked again: taken back
 *	ibv_create_qp(max_inline_data 1024)	a queue pair
 *
 * So a refusal is taken back when the same thread asks for less. The last of a search that ends
 * with one is taken back, too.
 */
#include "analyzer/facts/failed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/place.h"
#include "analyzer/facts/probes.h"
#include "analyzer/model/reason.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

enum { PLACES = 64, SEARCH = 3 /* refusals in a row */, TEXT = 256 };

/* What a thread was refused last, for the inline data that it asked for. */
struct search {
	size_t refusal; /* 1 + index of the fact; 0: none, or taken back */
	int64_t inline_data;
	unsigned int steps;
};

struct failed {
	struct trace *trace;
	struct fact_list *facts;
	struct search *searches; /* by thread */
	size_t nsearches;
	struct {
		uint32_t stack;
		uint64_t key;
	} places[PLACES]; /* the last keys that were made */
};

int failed_new(struct trace *trace, struct fact_list *facts, struct failed **ret_failed)
{
	struct failed *failed = calloc(1, sizeof(*failed));

	if (!failed)
		return log_err(-ENOMEM, "failed verbs");
	failed->trace = trace;
	failed->facts = facts;
	*ret_failed = failed;
	return 0;
}

void failed_free(struct failed *failed)
{
	if (!failed)
		return;
	free(failed->searches);
	free(failed);
}

static uint64_t find_place(struct failed *failed, uint32_t stack)
{
	if (failed->places[stack % PLACES].stack != stack) {
		failed->places[stack % PLACES].stack = stack;
		failed->places[stack % PLACES].key = place_key(failed->trace, stack);
	}
	return failed->places[stack % PLACES].key;
}

static struct fact *count_failure(struct failed *failed, struct model *model,
				  const struct trace_event *event, enum verb verb, uint32_t stack,
				  int error)
{
	uint64_t key =
		fact_key((uint64_t)verb << 32 | (uint32_t)error, find_place(failed, stack), 0);
	struct fact *fact = fact_count(failed->facts, FACT_FAILED, key, event->process);
	char text[TEXT];

	if (!fact || fact->what)
		return fact;
	fact->event = event->id;
	fact->time = event->time;
	fact->process = event->process;
	fact->thread = event->id.thread;
	fact->stack = stack;
	fact->verb = verb;
	fact->error = error;
	fact->what = strdup(reason_call(model, event, text, sizeof(text)));
	if (reason_of(model, event, text, sizeof(text)))
		fact->because = strdup(text);
	return fact;
}

/* Searches for the most inline data */

static struct search *search_of(struct failed *failed, uint32_t thread)
{
	while (failed->nsearches <= thread)
		if (!vec_push(failed->searches, failed->nsearches))
			return NULL;
	return &failed->searches[thread];
}

static struct fact *last_refusal(struct failed *failed, const struct search *search)
{
	return search->refusal ? &failed->facts->all[search->refusal - 1] : NULL;
}

static bool asks_for_inline(const struct call *call, int64_t *ret_bytes)
{
	return (call->verb == VERB_create_qp || call->verb == VERB_create_qp_ex) &&
	       (args_get(call->args, "qp_init_attr.cap.max_inline_data", ret_bytes) ||
		args_get(call->args, "qp_init_attr_ex.cap.max_inline_data", ret_bytes));
}

/* It has asked for less than it was refused. */
static void take_back(struct failed *failed, const struct trace_event *event)
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

static void note_refusal(struct failed *failed, const struct trace_event *event, struct fact *fact)
{
	struct search *search;
	int64_t bytes;

	if (!fact || !asks_for_inline(event->call, &bytes) || !bytes)
		return;
	search = search_of(failed, event->id.thread);
	if (!search)
		return;
	search->inline_data = bytes;
	if (++search->steps < SEARCH)
		search->refusal = (size_t)(fact - failed->facts->all) + 1;
	else
		fact_uncount(failed->facts, fact); /* whether or not there will be another */
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

static void take_event(struct failed *failed, struct model *model, const struct trace_event *event)
{
	const char *type = args_text(event->call->out, "event.event_type");
	char text[TEXT], name[64];
	struct fact *fact;
	int64_t value = 0;

	if (!is_fatal(type))
		return;
	args_get(event->call->out, "event.event_type", &value);
	fact = fact_count(failed->facts, FACT_FATAL, fact_key((uint64_t)value, event->process, 0),
			  event->process);
	if (!fact || fact->what)
		return;
	fact->event = event->id;
	fact->time = event->call->end;
	fact->process = event->process;
	fact->thread = event->id.thread;
	fact->stack = event->call->stack;
	fact->verb = event->call->verb;
	fact->error = (int)value;
	snprintf(text, sizeof(text), "%s%s%s", type,
		 reason_element(model, event, name, sizeof(name)) ? " of " : "", name);
	fact->what = strdup(text);
}

void failed_return(struct failed *failed, struct model *model, const struct trace_event *event)
{
	int error = reason_error(event);

	if (failed->nsearches)
		take_back(failed, event);
	if (event->call->verb == VERB_get_async_event && !error)
		take_event(failed, model, event);
	if (error && !probe_is(event->call, error))
		note_refusal(failed, event,
			     count_failure(failed, model, event, event->call->verb,
					   event->call->stack, error));
}

void failed_data(struct failed *failed, struct model *model, const struct trace_event *event)
{
	bool post = event->kind == TRACE_POST;
	enum verb verb = post                        ? event->post->verb
			 : event->kind == TRACE_POLL ? event->poll->verb
						     : VERB_req_notify_cq;

	count_failure(failed, model, event, verb, post ? event->post->stack : 0,
		      reason_error(event));
}
