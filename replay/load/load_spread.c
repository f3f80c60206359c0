/*
 * Shares of sizes and gaps, from tracks and to tracks
 *
 *	gaps of all tracks of a class -> classes of 1/16 of a power of two -> LOAD_SHARES shares
 *
 * Each share has the mean of its values, so that totals are exact. The first neighbours to be
 * joined are those with the least product of weight and distance on a logarithmic scale: rare long
 * gaps stay apart from frequent short ones.
 */
#include "replay/load/load_spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/log.h"

enum {
	FINE = 16, /* of a power of two */
	FINES = LOAD_GAP_BITS * FINE + 1,
	TRACK_MOST = 1 << 16, /* requests of a generated track, which is repeated */
};

static int compare_shares(const void *a, const void *b)
{
	const struct load_share *x = a, *y = b;

	if (x->opcode != y->opcode)
		return x->opcode < y->opcode ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* The loss of precision if two neighbours are joined. */
static double cost_of_join(const struct load_share *a, const struct load_share *b)
{
	double far = log1p(b->value) - log1p(a->value);

	return a->weight * b->weight / (a->weight + b->weight) * far * far;
}

static void join_shares(struct load_share *a, const struct load_share *b)
{
	double weight = a->weight + b->weight;

	a->value = (a->value * a->weight + b->value * b->weight) / weight;
	a->weight = weight;
}

/* Join shares of one opcode, which are sorted, until at most LOAD_SHARES are left. */
static size_t reduce_shares(struct load_share *shares, size_t n)
{
	while (n > LOAD_SHARES) {
		double least = INFINITY;
		size_t best = 0;

		for (size_t i = 0; i + 1 < n; i++) {
			double cost = cost_of_join(&shares[i], &shares[i + 1]);

			if (cost < least) {
				least = cost;
				best = i;
			}
		}
		join_shares(&shares[best], &shares[best + 1]);
		n--;
		memmove(&shares[best + 1], &shares[best + 2], (n - best - 1) * sizeof(*shares));
	}
	return n;
}

static void normalise_weights(struct load_share *shares, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += shares[i].weight;
	for (size_t i = 0; i < n; i++)
		shares[i].weight /= sum;
}

static size_t reduce_sizes(struct load_share *sizes, size_t n)
{
	size_t to = 0;

	for (size_t i = 0, end; i < n; i = end) {
		size_t reduced;

		for (end = i; end < n && sizes[end].opcode == sizes[i].opcode;)
			end++;
		reduced = reduce_shares(&sizes[i], end - i);
		memmove(&sizes[to], &sizes[i], reduced * sizeof(*sizes));
		to += reduced;
	}
	return to;
}

static int add_size(struct load_summary *summary, const struct load_kind *kind, double count)
{
	struct load_share *share = vec_push(summary->sizes, summary->nsizes);

	if (!share)
		return -ENOMEM;
	*share = (struct load_share){ kind->opcode, kind->bytes, count };
	return 0;
}

static int summarise_sizes(const struct load *load, const struct load_class *class,
			   struct load_summary *summary)
{
	double *counts = calloc(load->nkinds ?: 1, sizeof(*counts));
	int err = 0;

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < class->ntracks; i++)
		for (size_t k = 0; k < class->tracks[i].n; k++)
			counts[class->tracks[i].requests[k].kind]++;
	for (size_t i = 0; !err && i < load->nkinds; i++)
		if (counts[i])
			err = add_size(summary, &load->kinds[i], counts[i]);
	free(counts);
	if (err)
		return err;
	qsort(summary->sizes, summary->nsizes, sizeof(*summary->sizes), compare_shares);
	summary->nsizes = reduce_sizes(summary->sizes, summary->nsizes);
	normalise_weights(summary->sizes, summary->nsizes);
	return 0;
}

static unsigned int fine_bin(uint64_t gap)
{
	unsigned int fine = gap ? (unsigned int)(log2((double)gap) * FINE) + 1 : 0;

	return fine < FINES ? fine : FINES - 1;
}

static int summarise_gaps(const struct load_class *class, struct load_summary *summary)
{
	struct load_share *fine = calloc(FINES, sizeof(*fine));
	size_t n = 0;

	if (!fine)
		return -ENOMEM;
	for (size_t i = 0; i < class->ntracks; i++)
		for (size_t k = 1; k < class->tracks[i].n; k++) {
			uint64_t gap = class->tracks[i].requests[k].gap;
			struct load_share one = { LOAD_GAP, (double)gap, 1 };

			join_shares(&fine[fine_bin(gap)], &one);
		}
	for (size_t i = 0; i < FINES; i++)
		if (fine[i].weight) {
			fine[n] = fine[i];
			fine[n++].opcode = LOAD_GAP;
		}
	summary->ngaps = reduce_shares(fine, n);
	summary->gaps = fine;
	normalise_weights(fine, summary->ngaps);
	return 0;
}

int load_summarise(const struct load *load, const struct load_class *class,
		   struct load_summary *ret_summary)
{
	struct load_summary summary = { .start = INT64_MAX };
	double sum = 0, gaps = 0, lasts = 0;
	int err = summarise_sizes(load, class, &summary) ?: summarise_gaps(class, &summary);

	if (err) {
		load_fini_summary(&summary);
		return log_err(err, "sum up the traffic");
	}
	for (size_t i = 0; i < class->ntracks; i++) {
		const struct load_track *track = &class->tracks[i];

		sum += (double)track->count;
		gaps += (double)track->count - 1;
		lasts += load_track_duration(track);
		if (track->start < summary.start)
			summary.start = track->start;
	}
	summary.requests = (uint64_t)llround(sum / (double)class->ntracks) ?: 1;
	summary.rate = lasts > 0 ? gaps / lasts * 1e9 : gaps > 0 ? 1e9 : 0;
	*ret_summary = summary;
	return 0;
}

void load_fini_summary(struct load_summary *summary)
{
	free(summary->sizes);
	free(summary->gaps);
	*summary = (struct load_summary){ 0 };
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void shuffle_shares(uint32_t *of, size_t n, uint64_t *state)
{
	for (size_t i = n; i > 1; i--) {
		size_t other = (size_t)(next_random(state) % i);
		uint32_t swap = of[i - 1];

		of[i - 1] = of[other];
		of[other] = swap;
	}
}

/* Assign a share to each of @n requests, in random order; each count is exact to one request. */
static int deal_shares(const struct load_share *shares, size_t nshares, size_t n, uint64_t *state,
		       uint32_t **ret_of)
{
	uint32_t *of = calloc(n ?: 1, sizeof(*of));
	double due = 0, sum = 0;
	size_t i = 0;

	if (!of)
		return -ENOMEM;
	for (size_t k = 0; k < nshares; k++)
		sum += shares[k].weight;
	for (size_t k = 0; k < nshares; k++) {
		due += shares[k].weight / sum * (double)n;
		while (i < n && (double)i + 0.5 < due)
			of[i++] = (uint32_t)k;
	}
	while (nshares && i < n)
		of[i++] = (uint32_t)nshares - 1;
	shuffle_shares(of, n, state);
	*ret_of = of;
	return 0;
}

/* The factor by which gaps are scaled so that they fit the rate. */
static double scale_of(const struct load_summary *summary, const uint32_t *of, size_t n)
{
	double sum = 0, mean = summary->rate > 0 ? 1e9 / summary->rate : 0;

	for (size_t i = 0; i < n; i++)
		sum += summary->gaps[of[i]].value;
	return sum > 0 ? mean * (double)n / sum : 0;
}

/* Set the gaps of all requests; the rounding error of each is added to the next. */
static void set_gaps(const struct load_summary *summary, const uint32_t *of,
		     struct load_track *track)
{
	double mean = summary->rate > 0 ? 1e9 / summary->rate : 0, over = 0;
	double scale = summary->ngaps ? scale_of(summary, of, track->n - 1) : 0;

	track->requests[0].gap = (uint64_t)fmin(mean, (double)LOAD_GAP_MOST);
	for (size_t i = 1; i < track->n; i++) {
		double exact = (scale > 0 ? summary->gaps[of[i - 1]].value * scale : mean) + over;
		double gap = fmin(fmax(0, floor(exact)), (double)LOAD_GAP_MOST);

		track->requests[i].gap = (uint64_t)gap;
		over = exact - gap;
	}
}

static int set_kinds(struct load *load, const struct load_summary *summary, const uint32_t *of,
		     struct load_track *track)
{
	int err = 0;

	for (size_t i = 0; !err && i < track->n; i++) {
		const struct load_share *size = &summary->sizes[of[i]];
		uint32_t kind;

		err = load_find_kind(load, size->opcode, (uint32_t)llround(size->value), &kind);
		track->requests[i].kind = kind & (LOAD_KIND_MOST - 1);
	}
	return err;
}

int load_make_track(struct load *load, const struct load_summary *summary, uint64_t seed,
		    struct load_track *ret_track)
{
	uint64_t state = seed * 2654435769u + 88172645463325252u;
	uint32_t *sizes = NULL, *gaps = NULL;
	size_t n = summary->requests < TRACK_MOST ? (size_t)summary->requests : TRACK_MOST;
	struct load_track track = { .n = n, .count = summary->requests, .start = summary->start };
	int err;

	track.requests = calloc(n ?: 1, sizeof(*track.requests));
	err = !track.requests ? -ENOMEM
			      : deal_shares(summary->sizes, summary->nsizes, n, &state, &sizes);
	if (!err)
		err = deal_shares(summary->gaps, summary->ngaps, n - 1, &state, &gaps);
	if (!err)
		err = set_kinds(load, summary, sizes, &track);
	if (!err)
		set_gaps(summary, gaps, &track);
	free(sizes);
	free(gaps);
	if (err) {
		free(track.requests);
		return err == -ENOMEM ? log_err(err, "make traffic") : err;
	}
	*ret_track = track;
	return 0;
}
