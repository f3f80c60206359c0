#pragma once
/*
 * The fast path for posts and polls whose queues only one thread uses, and which complete as
 * recorded.
 *
 * For connected queue pairs without a shared receive queue. Everything that a step needs is looked
 * up once and cached in its form until a control verb may have changed something. Anything
 * unexpected is left to posts.c and expect.c, which find the queues unchanged.
 *
 * The caller has exclusive access to the replay; or only to the queues of the step, while no thread
 * has access to the whole replay (play.c).
 */
#include <stdbool.h>
#include <stdint.h>

struct replay;
struct ready_step;

/*
 * Post the step's request. False: it cannot be posted by the fast path, and nothing was done.
 * @alone: the caller has exclusive access to the replay, else to the queues.
 */
bool fast_post(struct replay *r, struct ready_step *step, bool alone);

enum { FAST_NOT = -1 };

/*
 * Poll for the step's completions from @from on, until @spins were empty. Returns the number of
 * completions that have come and were as recorded; FAST_NOT: nothing was done. Other completions
 * are stored for polls_take(), which must be called before the fast path is possible again.
 */
int fast_poll(struct replay *r, struct ready_step *step, uint32_t from, unsigned int spins,
	      bool alone);
