#pragma once
/*
 * An event channel: the descriptor that the program polls, its ids and
 * events. Callers hold the connection manager's lock (cm.c).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_user_cm.h>

#include "shim/soft/cm/cm_wire.h"

struct cm_id;
struct cm_multicast;

struct cm_event {
	struct cm_event		*next;
	struct cm_id		*id;		/* it is counted there */
	struct cm_multicast	*multicast;	/* and there, or NULL */
	struct cm_id		*request;	/* the new id of a request */
	struct rdma_ucm_event_resp resp;
};

struct cm_channel {
	int			fd;		/* an epoll of those below */
	int			box;
	int			timer;
	uint32_t		number;		/* of the mailbox */
	uint32_t		epoch;
	uint64_t		armed;		/* ns of the timer; 0: not */
	pthread_t		reader;		/* has got an event, and was not */
	bool			reading;	/* seen since, if there is one */
	struct cm_id		*ids;
	struct cm_event		*first, **last;
	struct cm_watch		*watches;
};

int cm_channel_new(struct cm_channel **ret_channel);
/* It has no ids any more. */
void cm_channel_free(struct cm_channel *channel);

/* See to what has happened: messages, deaths, times. */
void cm_channel_run(struct cm_channel *channel);
/* Only to the messages that the mailbox holds. */
void cm_channel_drain(struct cm_channel *channel);

/*
 * Let the descriptor be readable if an event waits, and when a time comes
 * at which one may be caused. To be called after every change.
 */
void cm_channel_arm(struct cm_channel *channel);

/* Takes @event. */
void cm_channel_put(struct cm_channel *channel, struct cm_event *event);
/* The first, or NULL; the caller's. */
struct cm_event *cm_channel_get(struct cm_channel *channel);

/* Be told of the death of a process; -ESRCH if it is dead. Counted. */
int cm_channel_watch(struct cm_channel *channel, const struct cm_name *peer);
void cm_channel_unwatch(struct cm_channel *channel, const struct cm_name *peer);
