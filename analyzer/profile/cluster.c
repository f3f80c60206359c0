/*
 * Latencies that gather at a constant of the protocol
 *
 * A request that is sent again takes a little more than a multiple of the timeout of its queue pair
 * (4.096 us x 2^timeout; InfiniBand specification, 9.7.6.1.3, allows a device up to four times
 * that), one that found no receive posted a multiple of the peer's RNR timer (9.7.5.2.8). The
 * first multiples are looked at, of constants far above what requests usually take.
 */
#include "analyzer/profile/cluster.h"

enum {
	TIMES = 7,
	LEAST = 3, /* requests */
	MORE = 4,  /* times as many as beside */
	FAR = 10,  /* times the median */
	RNR_LONGEST = 0,
};

int64_t cluster_rnr_time(unsigned int code)
{
	static const int64_t us[32] = {
		655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
		480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
		20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520
	};

	return us[code & 31] * 1000;
}

/* How many are within @from to @to hundredths of @at. */
static uint64_t count_span(const struct histogram *h, int64_t at, int from, int to)
{
	return histogram_between(h, (uint64_t)(at / 100 * from), (uint64_t)(at / 100 * to));
}

/* A class is up to 3.1 % wide: what begins in a span may end outside of it. */
static bool look_at(const struct histogram *h, int64_t at, struct cluster *cluster)
{
	uint64_t before = count_span(h, at, 91, 95), after = count_span(h, at, 109, 113);

	cluster->n = count_span(h, at, 100, 104);
	cluster->beside = before > after ? before : after;
	return cluster->n >= LEAST && cluster->n >= MORE * cluster->beside;
}

static bool is_told(const struct cluster *clusters, size_t n, int64_t at)
{
	for (size_t i = 0; i < n; i++) {
		int64_t told = clusters[i].constant * clusters[i].times;

		if (at > told / 100 * 90 && at < told / 100 * 115)
			return true;
	}
	return false;
}

static size_t add_multiples(const struct histogram *h, struct cluster cluster,
			    struct cluster clusters[CLUSTERS], size_t n)
{
	if (cluster.constant / FAR < histogram_percentile(h, 50))
		return n;
	for (cluster.times = 1; cluster.times <= TIMES && n < CLUSTERS; cluster.times++) {
		int64_t at = cluster.constant * cluster.times;

		if (at / 100 * 91 <= (int64_t)h->max && !is_told(clusters, n, at) &&
		    look_at(h, at, &cluster))
			clusters[n++] = cluster;
	}
	return n;
}

size_t cluster_find(const struct profile *profile, struct cluster clusters[CLUSTERS])
{
	struct histogram all = { 0 };
	size_t n = 0;

	profile_latency(profile, PROFILE_OPCODES, &all);
	for (unsigned int code = 0; code < 32 && all.count; code++)
		if (profile->rnr_timers >> code & 1 || code == RNR_LONGEST)
			n = add_multiples(&all,
					  (struct cluster){ .constant = cluster_rnr_time(code),
							    .rnr = true,
							    .code = code },
					  clusters, n);
	for (unsigned int code = 1; code < 32 && all.count; code++)
		if (profile->timeouts >> code & 1)
			n = add_multiples(
				&all, (struct cluster){ .constant = 4096ll << code, .code = code },
				clusters, n);
	histogram_fini(&all);
	return n;
}
