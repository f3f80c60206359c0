/*
 * Depth over time, and receiver starvation
 *
 *	outstanding  3 |      +--+
 *	             2 |   +--+  +-----+
 *	             1 |---+           +--+      +---	area / ns: the mean
 *	             0 |                  +------+	empty
 *	                post ...  completions     post
 *
 * A completion is polled later than the device is done with the request. So the counted empty time
 * is a lower bound, and the depth at other times an upper bound.
 */
#include "analyzer/profile/depth.h"

#include "analyzer/model/model.h"
#include "analyzer/model/queue.h"

/* The queue had @n requests outstanding from the last change until @now. */
static void add_depth(struct profile_depth *depth, uint32_t n, int64_t now, int64_t since)
{
	int64_t ns = now - depth->last;

	if (depth->last && depth->last >= since && ns > 0) {
		depth->area += (double)n * (double)ns;
		if (__builtin_add_overflow(depth->ns, ns, &depth->ns))
			depth->ns = INT64_MAX; /* in a damaged trace */
		depth->empty += !n;
		depth->empty_ns += n || depth->ns == INT64_MAX ? 0 : ns;
	}
	depth->last = now;
}

void depth_count_post(struct profile_side *side, const struct model_post *post, int64_t since)
{
	if (post->taken && !post->queue->doubt)
		add_depth(&side->depth, post->queue->outstanding - post->taken, post->event->time,
			  since);
}

void depth_count_completion(struct profile_side *side, const struct model_complete *complete,
			    int64_t since)
{
	if (!complete->queue->doubt)
		add_depth(&side->depth, complete->queue->outstanding, complete->event->time, since);
}

void depth_reset(struct profile_side *side)
{
	side->depth.last = 0;
}

void depth_count_starved(struct profile_starved *starved, const struct model_post *post)
{
	const struct queue *queue = post->queue;
	int64_t now = post->event->time, from = queue->starved_since, ns;

	if (!post->taken || !queue->starved || now - from < STARVED_LEAST)
		return;
	starved->messages += queue->starved;
	if (from > starved->until || !starved->stalls) {
		starved->stalls++;
		starved->since = from;
		ns = now - from;
	} else {
		ns = now - starved->until;
	}
	starved->until = now;
	if (__builtin_add_overflow(starved->ns, ns, &starved->ns))
		starved->ns = INT64_MAX; /* in a damaged trace */
	if (now - starved->since > starved->longest)
		starved->longest = now - starved->since;
}
