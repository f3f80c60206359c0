/*
 * Taking ports down, and up again
 *
 * The state is in the segment, so that peers can see it. If a port is down for a limited time, a
 * thread sets it up again.
 */
#include "shim/soft/transport/port_state.h"

#include <stdlib.h>
#include <time.h>

#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/port_counters.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/thread.h"
#include "shim/soft/transport/objects.h"

struct outage {
	uint8_t port;
	uint64_t instance; /* of this process's segment, when the port went down */
	uint64_t ns;
};

static uint32_t port_bit(uint8_t port)
{
	return 1u << (port & 31);
}

/* Send an event to all contexts. Callers hold soft_contexts_mutex. */
static void notify_contexts(uint8_t port, enum ibv_event_type type)
{
	struct pipe_event event = { PIPE_PORT, port, 0, type };
	struct soft_context *context;

	for (context = soft_contexts; context; context = context->next)
		pipe_send(segment_own, context->async, &event);
}

void port_notify(uint8_t port, enum ibv_event_type type)
{
	pthread_mutex_lock(&soft_contexts_mutex);
	notify_contexts(port, type);
	pthread_mutex_unlock(&soft_contexts_mutex);
}

/* Callers hold soft_contexts_mutex. */
static void bring_port_up(uint8_t port)
{
	uint32_t was =
		__atomic_fetch_and(&segment_own->ports_down, ~port_bit(port), __ATOMIC_RELAXED);

	if (was & port_bit(port))
		notify_contexts(port, IBV_EVENT_PORT_ACTIVE);
}

/* Callers hold soft_contexts_mutex. */
static void take_port_down(uint8_t port)
{
	uint32_t was =
		__atomic_fetch_or(&segment_own->ports_down, port_bit(port), __ATOMIC_RELAXED);

	if (was & port_bit(port))
		return;
	port_counters_add(port, PORT_COUNTER_LINK_DOWN);
	notify_contexts(port, IBV_EVENT_PORT_ERR);
}

static void *end_outage(void *arg)
{
	struct outage *outage = arg;
	struct timespec ts = { outage->ns / 1000000000, outage->ns % 1000000000 };

	nanosleep(&ts, NULL);
	pthread_mutex_lock(&soft_contexts_mutex);
	/* the device may have been closed and opened again in between */
	if (soft_contexts && segment_own->instance == outage->instance)
		bring_port_up(outage->port);
	pthread_mutex_unlock(&soft_contexts_mutex);
	free(outage);
	return NULL;
}

static void end_outage_later(uint8_t port, uint64_t ns)
{
	struct outage *outage = malloc(sizeof(*outage));

	if (!outage)
		return;
	*outage = (struct outage){ port, segment_own->instance, ns };
	if (!thread_start(end_outage, outage, NULL))
		free(outage);
}

void port_change(uint8_t port, enum ibv_port_state state, uint64_t ns)
{
	pthread_mutex_lock(&soft_contexts_mutex);
	if (state == IBV_PORT_ACTIVE)
		bring_port_up(port);
	else
		take_port_down(port);
	pthread_mutex_unlock(&soft_contexts_mutex);
	if (state != IBV_PORT_ACTIVE && ns)
		end_outage_later(port, ns);
}
