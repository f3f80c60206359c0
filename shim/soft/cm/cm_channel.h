#pragma once
/*
 * An event channel: the descriptor that the program polls, its ids and
 * events. Callers hold the connection manager's lock (cm.c).
 */
#include "shim/soft/cm/cm_objects.h"

/* One more than the greatest descriptor that a channel may have. */
enum { CM_CHANNEL_FDS = 1 << 16 };

/* The channel of a descriptor, or NULL. Any thread, without the lock. */
struct cm_channel *cm_channel_at(int fd);

/* Add the channel to the table of descriptors, or remove it; in a child, forget all. */
void cm_channel_show(struct cm_channel *channel);
void cm_channel_hide(struct cm_channel *channel);
void cm_channel_forget_all(void);

int cm_channel_new(struct cm_channel **ret_channel);
/* The channel must have no ids left. */
void cm_channel_free(struct cm_channel *channel);

/* Is there work to do? Also notes which processes have died. */
bool cm_channel_is_ready(struct cm_channel *channel);

/* The next process that has died, each one once; false: no more. */
bool cm_channel_take_dead(struct cm_channel *channel, struct cm_name *ret_process);

/*
 * Make the descriptor readable if an event waits, and at the next time limit. Call it after every
 * change.
 */
void cm_channel_arm(struct cm_channel *channel);

/* Takes @event. */
void cm_channel_put(struct cm_channel *channel, struct cm_event *event);
/* The first event, or NULL; the caller frees it. */
struct cm_event *cm_channel_get(struct cm_channel *channel);

/*
 * Watch for the death of a process. If it is dead already, cm_channel_take_dead() returns it next,
 * once its messages have been read. Counted; -ENOMEM.
 */
int cm_channel_watch(struct cm_channel *channel, const struct cm_name *peer);
void cm_channel_unwatch(struct cm_channel *channel, const struct cm_name *peer);
