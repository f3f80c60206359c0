#pragma once
/*
 * Requests that a queue had no room for.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct replay;
struct posting;
struct replica;
struct call;
struct requests;

/* How long the queues are that @call has made there, and with @args here. */
void full_note_lengths(struct replica *replica, const struct call *call, const uint64_t *args);

/* Is the queue shorter than the recorded one? */
bool full_is_shorter(const struct requests *requests);

/* Must a send get a signal that it had not there, because the queue is too short to wait for it? */
bool full_must_signal(struct requests *requests, bool signaled);

/* The requests of @p from @from on wait, behind those that do already. 0 or -ENOMEM. */
int full_hold(struct posting *p, uint32_t from);

/* How many wait. */
uint32_t full_count(const struct requests *requests);

/* Post what has room now, of all queues. Returns how many requests that were. */
unsigned int full_resume(struct replay *r);

/* The last of those that wait are not to be posted after all, at most @n. Returns how many. */
uint32_t full_withdraw(struct requests *requests, uint32_t n);

/* Forget what waits. */
void full_drop(struct requests *requests);
