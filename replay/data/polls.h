#pragma once
/*
 * Polling completions in the replay.
 */
#include <stdbool.h>

struct replay;
struct replica;

enum { POLLS_BATCH = 32 }; /* completions in one poll */

/* Is @cq polled by its iterator? Not if its iterator does not report the queue pair. */
bool polls_by_iterator(const struct replica *cq);

/* Poll all completions of queue pair @replica, and store them for later recorded polls. */
void polls_drain(struct replay *r, struct replica *replica);

/*
 * Poll the queues in which requests wait for free entries, and post the requests that then fit.
 * Returns their number.
 */
unsigned int polls_make_room(struct replay *r);

/* Take up to @max completions of completion queue @replica. Returns how many, or -errno. */
int polls_take(struct replay *r, struct replica *replica, int max);
