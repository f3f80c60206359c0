#pragma once
/*
 * What comes off a completion queue here.
 */
#include <stdbool.h>

struct replay;
struct replica;

enum { POLLS_BATCH = 32 }; /* completions that are polled at once */

/* Is @cq polled by its iterator? That of a CQ made without does not tell the queue pair. */
bool polls_by_iterator(const struct replica *cq);

/* Take what is in the completion queues of queue pair @replica, to be asked for later. */
void polls_drain(struct replay *r, struct replica *replica);

/*
 * Take what has completed from the queues where requests wait for room, and post what has room
 * then. Returns how many requests that were.
 */
unsigned int polls_make_room(struct replay *r);

/* Take up to @max completions of completion queue @replica. Returns how many, or -errno. */
int polls_take(struct replay *r, struct replica *replica, int max);
