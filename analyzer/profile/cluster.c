/*
 * Latencies that cluster at a multiple of an RNR timer
 *
 * A message that finds no receive posted is sent again after the peer's RNR timer (InfiniBand
 * specification, 9.7.5.2.8), as often as necessary. A latency alone cannot be distinguished from a
 * slow path, nor one at a multiple of the ACK timeout from a lost packet: so only requests are
 * examined that certainly found no receive (analyzer/model/starved.h). Only the first multiples of
 * a timer count, if the timer is far above the usual latency, and only from several stalls:
 * requests that were queued one behind the other waited for one receive.
 *
 * A software device of the kernel (rxe, siw) counts ticks: the timer is rounded down to ticks, and
 * the first tick is shorter. If two ticks are small compared with the timer, it may expire two
 * ticks early.
 */
#include "analyzer/profile/cluster.h"

#include "analyzer/model/qp.h"

enum {
	TIMES = 7,
	LEAST_STALLS = 3, /* stalls */
	MORE = 4, /* a cluster has MORE times as many requests as equally wide spans beside it */
	FAR_MEDIANS = 10, /* times the median latency, at least */
	TICKS = 8000000,  /* two of 4 ms, in ns */
	LITTLE = 8,       /* small means 1/8 of the time */
};

/* A range of latencies, ns. */
struct span {
	int64_t from, to;
};

static struct span span_of(int64_t at)
{
	return (struct span){ at > (int64_t)TICKS * LITTLE ? at - TICKS : at, at / 100 * 104 };
}

static uint64_t count_span(const struct histogram *h, int64_t from, int64_t to)
{
	return from < 0 ? 0 : histogram_count_between(h, (uint64_t)from, (uint64_t)to);
}

/* Narrow the cluster to the first and last class of @span that have values. */
static void narrow_span(const struct histogram *h, struct cluster *cluster, struct span span)
{
	uint64_t from, to;

	cluster->from = 0;
	for (unsigned int i = histogram_class_of((uint64_t)span.from);
	     i <= histogram_class_of((uint64_t)span.to); i++) {
		if (!histogram_count_class(h, i, &from, &to))
			continue;
		if (!cluster->from)
			cluster->from = (int64_t)from;
		cluster->to = (int64_t)(to < h->max ? to : h->max);
	}
}

/* Find a cluster. A class, up to 3.1 % wide, may begin within a span and end outside of it. */
static bool find_peak(const struct histogram *stalled, const struct histogram *stalls,
		      const struct histogram *h, int64_t at, struct cluster *cluster)
{
	struct span span = span_of(at);
	int64_t wide = span.to - span.from, apart = at / 100 * 5;
	uint64_t before = count_span(h, span.from - apart - wide, span.from - apart);
	uint64_t after = count_span(h, span.to + apart, span.to + apart + wide);

	cluster->n = count_span(stalled, span.from, span.to);
	cluster->stalls = count_span(stalls, span.from, span.to);
	cluster->of = h->count;
	cluster->beside = before > after ? before : after;
	narrow_span(stalled, cluster, span);
	return cluster->stalls >= LEAST_STALLS && cluster->n >= MORE * cluster->beside;
}

bool cluster_has(const struct cluster *cluster, const struct profile_queue *queue)
{
	struct span span = span_of(cluster->constant * cluster->times);

	return queue->stalled && queue->stalled_by >> cluster->code & 1 &&
	       count_span(queue->stalled, span.from, span.to);
}

static bool is_covered(const struct cluster *clusters, size_t n, int64_t at)
{
	for (size_t i = 0; i < n; i++) {
		int64_t told = clusters[i].constant * clusters[i].times;

		if (at > told / 100 * 90 && at < told / 100 * 115)
			return true;
	}
	return false;
}

static size_t add_multiples(const struct profile *profile, const struct histogram *all,
			    struct cluster cluster, struct cluster clusters[CLUSTERS], size_t n)
{
	const struct histogram *stalled = profile->stalled[cluster.code];

	if (cluster.constant / FAR_MEDIANS < histogram_percentile(all, 50))
		return n;
	for (cluster.times = 1; cluster.times <= TIMES && n < CLUSTERS; cluster.times++) {
		int64_t at = cluster.constant * cluster.times;

		if (at / 100 * 91 <= (int64_t)stalled->max && !is_covered(clusters, n, at) &&
		    find_peak(stalled, profile->stalls[cluster.code], all, at, &cluster))
			clusters[n++] = cluster;
	}
	return n;
}

size_t cluster_find(const struct profile *profile, struct cluster clusters[CLUSTERS])
{
	struct histogram all = { 0 };
	size_t n = 0;

	profile_latency(profile, PROFILE_OPCODES, &all);
	for (unsigned int code = 0; code < 32; code++)
		if (profile->stalled[code] && profile->stalls[code])
			n = add_multiples(
				profile, &all,
				(struct cluster){ .constant = qp_rnr_time(code), .code = code },
				clusters, n);
	histogram_fini(&all);
	return n;
}
