#pragma once
/*
 * An event channel: the descriptor that the program polls, its ids and
 * events. Callers hold the connection manager's lock (cm.c).
 */
#include "shim/soft/cm/cm_objects.h"

/* Limit of descriptors that may be channels. */
enum { CM_CHANNEL_FDS = 1 << 16 };

/* The channel of a descriptor, or NULL. Any thread, without the lock. */
struct cm_channel *cm_channel_at(int fd);

/* Add the channel to the table of descriptors; remove it; in a child, forget all channels. */
void cm_channel_show(struct cm_channel *channel);
void cm_channel_hide(struct cm_channel *channel);
void cm_channel_forget_all(void);

int cm_channel_new(struct cm_channel **ret_channel);
/* Free a channel, which must not have ids any more. */
void cm_channel_free(struct cm_channel *channel);

/* Is there work to do? This also notes which processes have died. */
bool cm_channel_is_ready(struct cm_channel *channel);

/* The next process that has died; each process is returned once. False: no more. */
bool cm_channel_take_dead(struct cm_channel *channel, struct cm_name *ret_process);

/*
 * Make the descriptor readable if an event waits, and at the next time limit. Call it after every
 * change.
 */
void cm_channel_arm(struct cm_channel *channel);

/* Append @event, and take ownership of it. */
void cm_channel_put(struct cm_channel *channel, struct cm_event *event);
/* Remove and return the first event, or NULL; the caller frees it. */
struct cm_event *cm_channel_get(struct cm_channel *channel);

/*
 * Watch for the death of a process. If it is dead already, cm_channel_take_dead() returns it after
 * its messages have been read. Calls are counted: each needs a cm_channel_unwatch(). 0 or -ENOMEM.
 */
int cm_channel_watch(struct cm_channel *channel, const struct cm_name *peer);
void cm_channel_unwatch(struct cm_channel *channel, const struct cm_name *peer);
