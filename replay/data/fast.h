#pragma once
/*
 * Posts and polls whose queues one thread has for itself, and which go as recorded.
 *
 * For connected queue pairs without a shared receive queue. All that a step needs is looked up once
 * and stays with its form until a control verb may have changed it. What is not as expected is left
 * to posts.c and expect.c, which find the queues as if nothing had been done.
 *
 * Who calls this has the whole replay for itself; or the queues of the step, while nobody has the
 * whole (play.c).
 */
#include <stdbool.h>
#include <stdint.h>

struct replay;
struct ready;

/*
 * Post it, with success; false: nothing was done. @alone: the caller has the whole replay, else the
 * queues must be its own.
 */
bool fast_post(struct replay *r, struct ready *step, bool alone);

enum { FAST_NOT = -1 };

/*
 * Poll for its completions from @from on, up to @spins times in vain. Returns how many of the poll
 * have come and were as recorded; FAST_NOT: nothing was done. What else has come is kept for
 * polls_take(), and then there is no fast way until that has been called.
 */
int fast_poll(struct replay *r, struct ready *step, uint32_t from, unsigned int spins, bool alone);
