/*
 * When ports and devices were down, or changed
 *
 * 	IBV_EVENT_PORT_ERR                       down
 * 	IBV_EVENT_PORT_ACTIVE of the same port   up again
 * 	IBV_EVENT_DEVICE_FATAL                   down permanently: it failed, or was removed
 * 	IBV_EVENT_GID_CHANGE, LID_, PKEY_        the port's addresses have changed
 *
 * The time of an event is when ibv_get_async_event() returned: a thread may get the event after
 * another has polled the completion, so that slightly later events count, too. A change counts for
 * requests posted until shortly after it: the poster of a later request may know of it.
 */
#include "analyzer/facts/outage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/words.h"
#include "core/base/vec.h"
#include "core/store/db/counter_names.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"

#define LATE_NS INT64_C(1000000000)

enum { TEXT = 96 };

struct outage {
	int type; /* of the event */
	uint32_t process;
	uint64_t context;
	uint32_t port;         /* 0: the device */
	struct event_id event; /* the event that reported the outage */
	int64_t from, to;      /* to: INT64_MAX: not up again; for a change: from + LATE_NS */
};

struct outages {
	struct outage *all;
	size_t n;
};

struct outages *outages_new(void)
{
	return calloc(1, sizeof(struct outages));
}

void outages_free(struct outages *outages)
{
	if (!outages)
		return;
	free(outages->all);
	free(outages);
}

/* The sentence about a port or device: the parts before and after its name. */
static const struct wording {
	int type;
	const char *before, *after;
} wordings[] = {
	{ ABI_EVENT_PORT_ERR, "", "was down" },
	{ ABI_EVENT_DEVICE_FATAL, "", "was down" },
	{ ABI_EVENT_LID_CHANGE, "the LID of ", "had changed" },
	{ ABI_EVENT_PKEY_CHANGE, "the P_Keys of ", "had changed" },
	{ ABI_EVENT_GID_CHANGE, "the GIDs of ", "had changed" },
};

/* NULL: the event reports no outage, and no change. */
static const struct wording *find_wording(int64_t type)
{
	for (size_t i = 0; i < sizeof(wordings) / sizeof(*wordings); i++)
		if (wordings[i].type == type)
			return &wordings[i];
	return NULL;
}

static bool is_change(int type)
{
	return type == ABI_EVENT_LID_CHANGE || type == ABI_EVENT_PKEY_CHANGE ||
	       type == ABI_EVENT_GID_CHANGE;
}

/* The outage of the port of @like that has not ended. */
static struct outage *find_open(struct outages *outages, const struct outage *like)
{
	for (size_t i = outages->n; i--;) {
		struct outage *o = &outages->all[i];

		if (o->to == INT64_MAX && o->process == like->process &&
		    o->context == like->context && o->port == like->port)
			return o;
	}
	return NULL;
}

void outages_note_event(struct outages *outages, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct outage now = {
		.process = event->process, .event = event->id, .from = call->end, .to = INT64_MAX
	};
	struct outage *open, *place;
	int64_t type, context, port = 0;

	if (!call->out || !call->args || !args_get(call->out, ARG(event.event_type), &type) ||
	    (!find_wording(type) && type != ABI_EVENT_PORT_ACTIVE) ||
	    !args_get(call->args, ARG(context), &context))
		return;
	if (type != ABI_EVENT_DEVICE_FATAL && !args_get(call->out, ARG(event.port_num), &port))
		return;
	now.type = (int)type;
	now.context = (uint64_t)context;
	now.port = (uint32_t)port;
	open = find_open(outages, &now);
	if (is_change(now.type)) {
		now.to = now.from + LATE_NS;
		open = NULL;
	}
	if (open && type == ABI_EVENT_PORT_ACTIVE)
		open->to = call->end;
	if (open || type == ABI_EVENT_PORT_ACTIVE)
		return;
	place = vec_push(outages->all, outages->n);
	if (place)
		*place = now;
}

static bool hits_victim(const struct outage *o, const struct outage_victim *victim)
{
	return victim->slack != INT64_MAX && o->process == victim->process &&
	       o->context == victim->context &&
	       (!o->port || !victim->port || o->port == victim->port) &&
	       o->to > victim->posted - victim->slack &&
	       o->from < victim->failed + victim->slack + LATE_NS;
}

/* Soft-RoCE reports IBV_WC_LOC_QP_OP_ERR if the port is down. */
static bool may_be_link(uint32_t status)
{
	return status == ABI_WC_RETRY_EXC_ERR || status == ABI_WC_LOC_QP_OP_ERR ||
	       status == ABI_WC_FATAL_ERR || status == ABI_WC_RESP_TIMEOUT_ERR ||
	       status == ABI_WC_GENERAL_ERR;
}

/* An outage takes precedence over a change. */
static const struct outage *find_outage(const struct outages *outages,
					const struct outage_victim *victim)
{
	const struct outage *found = NULL;

	for (size_t i = 0; i < outages->n && may_be_link(victim->status); i++) {
		const struct outage *o = &outages->all[i];

		if (hits_victim(o, victim) &&
		    (!found || !is_change(o->type) || is_change(found->type)))
			found = o;
	}
	return found;
}

/* "port 1", "the device"; @of_peer: with " of process 2". */
static void name_port(const struct outage *o, bool of_peer, char *text, size_t size)
{
	char process[PROCESS_TEXT];
	int n = o->port ? snprintf(text, size, "port %u", o->port)
			: snprintf(text, size, "the device");

	if (of_peer)
		snprintf(text + n, size - (size_t)n, " of %s",
			 process_id_text(o->process, process));
}

char *outages_describe(const struct outages *outages, const struct outage_victim *victim,
		       bool of_peer)
{
	const struct outage *o = find_outage(outages, victim);
	const struct wording *wording;
	char name[TEXT], id[32], when[48], *text;

	if (!o)
		return NULL;
	wording = find_wording(o->type);
	name_port(o, of_peer, name, sizeof(name));
	words_format_earlier(victim->failed - o->from, victim->slack, when);
	if (asprintf(&text, "%s%s %s: %s %s, %s", wording->before, name, wording->after,
		     enum_name(enum_find("ibv_event_type"), o->type), event_id_text(o->event, id),
		     when) < 0)
		return NULL;
	return text;
}

static void note_removed(void *arg, const struct lookup_counter *counter)
{
	char *name = arg;

	if (!*name && !counter->merged && !strcmp(counter->folder, COUNTER_OF_DEVICE) &&
	    !strcmp(counter->name, COUNTER_REMOVED))
		snprintf(name, TEXT, "%s", counter->device);
}

char *outages_describe_removed(struct trace *trace, const struct outage_victim *victim,
			       bool of_peer)
{
	size_t part = trace_part_of(trace, victim->process);
	char name[TEXT] = "", *text;

	if (!may_be_link(victim->status))
		return NULL;
	lookup_counters(trace_part(trace, part), note_removed, name);
	if (!*name ||
	    asprintf(&text,
		     "device %s of %s machine was removed at some point during the recording", name,
		     of_peer ? "the peer's" : "this") < 0)
		return NULL;
	return text;
}
