#pragma once
/*
 * Requests that did not fit into their queue.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct replay;
struct post_in_progress;
struct replica;
struct call;
struct requests;

/* The lengths of the queues that @call created in the recording, and with @args in the replay. */
void held_note_lengths(struct replica *replica, const struct call *call, const uint64_t *args);

/* Is the queue shorter than the recorded one? */
bool held_queue_is_shorter(const struct requests *requests);

/*
 * Must a send be signaled, although the recorded one was not, to free entries of a queue that is
 * shorter than the recorded one?
 */
bool held_must_signal(struct requests *requests, bool signaled);

/* Hold back the requests of @p from @from on, behind those that wait already. 0 or -ENOMEM. */
int held_add_requests(struct post_in_progress *p, uint32_t from);

/* The number of waiting requests. */
uint32_t held_count_requests(const struct requests *requests);

/* Post the waiting requests of all queues that fit now. Returns their number. */
unsigned int held_post_all(struct replay *r);

/*
 * Drop up to @n of the last waiting requests: they must not be posted after all. Returns how many.
 */
uint32_t held_withdraw(struct requests *requests, uint32_t n);

/* Drop all waiting requests. */
void held_drop_all(struct requests *requests);
