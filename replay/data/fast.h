#pragma once
/*
 * The fast path for posts and polls whose queues only one thread uses, and which complete as
 * recorded.
 *
 * For connected queue pairs without a shared receive queue. Everything that a step needs is looked
 * up once and cached in its form until a control verb may have changed it. Anything unexpected is
 * left to posts.c and expect.c, which find the queues unchanged.
 *
 * The caller has exclusive access to the replay, or to the queues of the step while no thread has
 * the former (play.c).
 */
#include <stdbool.h>
#include <stdint.h>

struct replay;
struct ready;

/*
 * Post it, with success; false: nothing was done. @alone: the caller has exclusive access to the
 * replay, else to the queues.
 */
bool fast_post(struct replay *r, struct ready *step, bool alone);

enum { FAST_NOT = -1 };

/*
 * Poll for its completions from @from on, up to @spins times in vain. Returns the number of
 * completions that have come and were as recorded; FAST_NOT: nothing was done. Other completions
 * are kept for polls_take(), and the fast path is not possible until that has been called.
 */
int fast_poll(struct replay *r, struct ready *step, uint32_t from, unsigned int spins, bool alone);
