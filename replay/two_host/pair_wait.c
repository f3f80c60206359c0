/*
 * Waiting for the other replay
 *
 * The other replay reports how many steps it has done. As long as that number grows, no thread of
 * this replay gives up a wait, neither for the other replay nor for its own device; a time-out runs
 * only while the number does not change.
 */
#include "replay/two_host/pair_priv.h"
#include "replay/report/pace.h"

#define SECOND 1000000000ll /* ns */

/*
 * The other replay may itself wait for its device, up to the whole time-out. So the limit is longer
 * for events that are certain to come.
 */
int64_t pair_wait_limit(const struct pair *p)
{
	return 2 * p->r->options->timeout + SECOND;
}

int64_t pair_check_interval(const struct pair *p)
{
	return p->r->options->timeout / 4;
}

static bool has_ended(const struct pair *p)
{
	return p->its_end || p->err || *p->bye;
}

bool pair_await(struct pair *p, pair_condition *is_so, uint64_t a, uint64_t b, int64_t patience)
{
	unsigned int turns = 0;
	int64_t since = wire_now(), now;
	bool so, over;

	do {
		now = wire_now();
		pthread_mutex_lock(&p->lock);
		so = is_so(p, a, b);
		since = p->moved > since ? p->moved : since;
		over = so || has_ended(p) || now - since > patience;
		pthread_mutex_unlock(&p->lock);
	} while (!over && pace_wait(&turns, INT64_MAX));
	return so;
}

bool pair_has_progress(void *arg)
{
	struct pair *p = arg;
	bool moves;

	pthread_mutex_lock(&p->lock);
	moves = !has_ended(p) && wire_now() - p->moved < p->r->options->timeout;
	pthread_mutex_unlock(&p->lock);
	return moves;
}
