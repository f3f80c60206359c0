/*
 * When ports and devices were down
 *
 * 	IBV_EVENT_PORT_ERR                       down
 * 	IBV_EVENT_PORT_ACTIVE of the same port   up again
 * 	IBV_EVENT_DEVICE_FATAL                   down permanently
 *
 * Times are those at which ibv_get_async_event() returned: a thread may get the event after another
 * has polled the completion, so that slightly later events count, too.
 */
#include "analyzer/facts/outage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/model/words.h"
#include "core/base/vec.h"
#include "core/store/read/trace.h"

#define LATE_NS INT64_C(1000000000)

/* enum ibv_event_type */
enum { DEVICE_FATAL = 8, PORT_ACTIVE = 9, PORT_ERR = 10 };

/* enum ibv_wc_status */
enum {
	LOC_QP_OP_ERR = 2, /* of Soft-RoCE: the port is down */
	RETRY_EXC_ERR = 12,
	FATAL_ERR = 19,
	RESP_TIMEOUT_ERR = 20,
	GENERAL_ERR = 21,
};

struct outage {
	uint32_t process;
	uint64_t context;
	uint32_t port;        /* 0: the device */
	struct event_id told; /* the event that reported it */
	int64_t from, to;     /* INT64_MAX: it did not come up again */
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

/* The outage of that port that has not ended. */
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

void outages_event(struct outages *outages, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct outage now = {
		.process = event->process, .told = event->id, .from = call->end, .to = INT64_MAX
	};
	struct outage *open, *place;
	int64_t type, context, port = 0;

	if (!call->out || !call->args || !args_get(call->out, ARG(event.event_type), &type) ||
	    (type != PORT_ERR && type != PORT_ACTIVE && type != DEVICE_FATAL) ||
	    !args_get(call->args, ARG(context), &context))
		return;
	if (type != DEVICE_FATAL && !args_get(call->out, ARG(event.port_num), &port))
		return;
	now.context = (uint64_t)context;
	now.port = (uint32_t)port;
	open = find_open(outages, &now);
	if (open && type == PORT_ACTIVE)
		open->to = call->end;
	if (open || type == PORT_ACTIVE)
		return;
	place = vec_push(outages->all, outages->n);
	if (place)
		*place = now;
}

static bool is_hit(const struct outage *o, const struct outage_victim *victim)
{
	return o->process == victim->process && o->context == victim->context &&
	       (!o->port || !victim->port || o->port == victim->port) && o->to > victim->posted &&
	       o->from < victim->failed + LATE_NS;
}

static bool may_be_link(uint32_t status)
{
	return status == RETRY_EXC_ERR || status == LOC_QP_OP_ERR || status == FATAL_ERR ||
	       status == RESP_TIMEOUT_ERR || status == GENERAL_ERR;
}

char *outages_sentence(const struct outages *outages, const struct outage_victim *victim)
{
	const struct outage *found = NULL;
	char what[32] = "the device", id[32], when[32], *text;
	int64_t before;

	for (size_t i = 0; i < outages->n && may_be_link(victim->status); i++)
		if (is_hit(&outages->all[i], victim))
			found = &outages->all[i];
	if (!found)
		return NULL;
	if (found->port)
		snprintf(what, sizeof(what), "port %u", found->port);
	before = victim->failed - found->from;
	if (asprintf(&text, "%s was down: %s %s, %s %s", what,
		     found->port ? "IBV_EVENT_PORT_ERR" : "IBV_EVENT_DEVICE_FATAL",
		     event_id_text(found->told, id), words_span(llabs(before), when),
		     before < 0 ? "later" : "before") < 0)
		return NULL;
	return text;
}
