#pragma once
/*
 * Why the other end did not answer, or refused, as the attributes of both ends tell.
 *
 * Sentences are to be freed; NULL: they tell nothing. One thread.
 */
#include <stdint.h>
struct life;
struct peer;
struct peers;

/*
 * No answer came to @qp: what to look at where @peer, in RTR or RTS, could give one; or, NULL, that
 * its other end is not known.
 */
char *answer_missing(const struct peers *peers, const struct life *qp, const struct peer *peer);

/* An operation with @opcode was refused by @peer, the queue pair @name of its process. */
char *answer_refused(int opcode, const struct peer *peer, const char *name);

/* The time of enum ibv_rnr_nak_timer value @code, ns. */
int64_t answer_rnr_time(unsigned int code);
