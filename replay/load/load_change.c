/* Scaling and mixing traffic */
#include "replay/load/load_change.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/wire/log.h"
#include "replay/load/load_join.h"

/* senders with at most 8 requests set connections up: UCX exchanges addresses so */
enum { BYTES_MOST = INT32_MAX, SETUP_REQUESTS = 8 };

static const double share_dropped = 0.05;

/* The first edges outside of patterns, for a message; returns how many there are. */
static size_t name_lists(const struct load *load, char *text, size_t size)
{
	size_t n = 0, used = 0;

	*text = '\0';
	for (size_t i = 0; i < load->nclasses; i++) {
		const struct load_class *class = &load->classes[i];

		for (size_t k = 0; class->pattern == LOAD_LIST && k < class->nedges; k++)
			if (n++ < 3 && used < size)
				used += (size_t)snprintf(text + used, size - used, "%s%u>%u",
							 n > 1 ? ", " : "", class->edges[k].from,
							 class->edges[k].to);
	}
	if (n > 3 && used < size)
		snprintf(text + used, size - used, ", ...");
	return n;
}

/*
 * The share of senders outside of patterns: that of requests, or that of bytes if it is larger. The
 * requests that set connections up do not count: in a short job, they are many, though small.
 */
static double share_of_lists(const struct load *load)
{
	struct load_totals all = load_totals(load), part;
	struct load lists = { .kinds = load->kinds, .nkinds = load->nkinds, .nclasses = 1 };
	double requests = 0, bytes = 0;

	for (size_t i = 0; i < load->nclasses; i++) {
		if (load->classes[i].pattern != LOAD_LIST)
			continue;
		lists.classes = &load->classes[i];
		part = load_totals(&lists);
		if (part.requests > SETUP_REQUESTS * part.senders)
			requests += (double)part.requests;
		bytes += part.bytes;
	}
	return fmax(requests / (double)all.requests, all.bytes > 0 ? bytes / all.bytes : 0);
}

static void drop_lists(struct load *load)
{
	uint64_t before = load_totals(load).requests;
	size_t n = 0;

	for (size_t i = 0; i < load->nclasses; i++) {
		if (load->classes[i].pattern == LOAD_LIST)
			load_fini_class(&load->classes[i]);
		else
			load->classes[n++] = load->classes[i];
	}
	load->nclasses = n;
	load->dropped += before - load_totals(load).requests;
}

static int refuse_lists(struct load *load)
{
	char text[64];
	size_t n = name_lists(load, text, sizeof(text)), all = load_totals(load).senders;

	if (!n)
		return 0;
	if (load->nranks < LOAD_PATTERN_RANKS)
		return log_why(-ENOTSUP,
			       "--scale-ranks: with %u ranks (%s) ring, tree, pairs and all-to-all "
			       "cannot be distinguished: write the traffic with verbatim model, "
			       "edit its pattern and number of ranks, and replay it",
			       load->nranks, text);
	if (share_of_lists(load) > share_dropped)
		return log_why(-ENOTSUP,
			       "--scale-ranks: %zu of %zu senders (%s), with %.1f %% of the "
			       "traffic, do not form a ring, tree, pairs, all-to-all or other "
			       "pattern that can be continued: verbatim model lists them",
			       n, all, text, 100 * share_of_lists(load));
	drop_lists(load);
	return 0;
}

static int scale_class(struct load_class *class, uint32_t before, uint32_t after)
{
	size_t edges = 0;
	const char *name = load_pattern_name(class->pattern);

	if (!load_pattern_takes(class->pattern, after))
		return log_why(-ENOTSUP, "--scale-ranks: %s is not defined for %u ranks", name,
			       after);
	for (uint32_t from = 0; from < before; from++)
		for (uint32_t to = 0; to < before; to++)
			edges += load_pattern_has(class->pattern, from, to, before);
	if (load_make_edges(class, class->pattern, after,
			    edges ? (uint32_t)(class->nedges / edges) : 1))
		return log_err(-ENOMEM, "continue the pattern %s", name);
	return 0;
}

int load_scale_ranks(struct load *load, uint32_t factor)
{
	uint64_t after = (uint64_t)load->nranks * factor;
	int err = refuse_lists(load);

	if (!err && after > LOAD_RANKS_MOST)
		err = log_why(-ERANGE, "--scale-ranks: %llu ranks are more than %u",
			      (unsigned long long)after, LOAD_RANKS_MOST);
	for (size_t i = 0; !err && i < load->nclasses; i++)
		err = scale_class(&load->classes[i], load->nranks, (uint32_t)after);
	if (!err)
		load->nranks = (uint32_t)after;
	return err;
}

static bool is_atomic(int opcode)
{
	return opcode == ABI_WR_ATOMIC_CMP_AND_SWP || opcode == ABI_WR_ATOMIC_FETCH_AND_ADD;
}

int load_scale_sizes(struct load *load, double factor)
{
	for (size_t i = 0; i < load->nkinds; i++) {
		struct load_kind *kind = &load->kinds[i];
		double bytes = round(kind->bytes * factor);

		if (is_atomic(kind->opcode))
			continue;
		if (bytes > BYTES_MOST)
			return log_why(-ERANGE,
				       "--size: %u bytes times %g are more than a request can have "
				       "(2 GiB): multiply by less",
				       kind->bytes, factor);
		kind->bytes = (uint32_t)bytes;
	}
	/* two sizes may have become one: no more kinds may be looked up by the old ones */
	map_fini(&load->kind_of);
	return 0;
}

/* Stretch a track by @factor to @period ns, all repetitions included; repeat it until @end. */
static void stretch_track(struct load_track *track, double factor, double period, double end)
{
	double over = 0, lasts = load_track_duration(track) * factor;

	for (size_t i = 1; i < track->n; i++) {
		double exact = (double)track->requests[i].gap * factor + over;

		track->requests[i].gap = (uint64_t)fmin(floor(exact), (double)LOAD_GAP_MOST);
		over = exact - (double)track->requests[i].gap;
	}
	track->start = (int64_t)((double)track->start * factor);
	if (track->count == track->n) {
		track->requests[0].gap =
			(uint64_t)fmin(fmax(period - lasts, 0), (double)LOAD_GAP_MOST);
		track->count = (uint64_t)llround((double)track->n * fmax(end / period, 1));
	} else {
		track->requests[0].gap = (uint64_t)((double)track->requests[0].gap * factor);
		track->count = (uint64_t)llround((double)track->count * fmax(end / period, 1));
	}
}

static void stretch_load(struct load *load, double factor, double period, double end)
{
	for (size_t i = 0; i < load->nclasses; i++)
		for (size_t k = 0; k < load->classes[i].ntracks; k++)
			stretch_track(&load->classes[i].tracks[k], factor, period, end);
}

/* Change the requests of @other from its table of kinds to that of @load. */
static int change_kinds(struct load *load, struct load *other)
{
	uint32_t *to = calloc(other->nkinds ?: 1, sizeof(*to));
	int err = to ? 0 : log_err(-ENOMEM, "mix the traffic");

	for (size_t i = 0; !err && i < other->nkinds; i++)
		err = load_find_kind(load, other->kinds[i].opcode, other->kinds[i].bytes, &to[i]);
	for (size_t i = 0; !err && i < other->nclasses; i++)
		for (size_t k = 0; k < other->classes[i].ntracks; k++) {
			struct load_track *track = &other->classes[i].tracks[k];

			for (size_t r = 0; r < track->n; r++)
				track->requests[r].kind =
					to[track->requests[r].kind] & (LOAD_KIND_MOST - 1);
		}
	free(to);
	return err;
}

static int move_classes(struct load *load, struct load *other)
{
	for (size_t i = 0; i < other->nclasses; i++) {
		struct load_class *class = load_add_class(load), *from = &other->classes[i];

		if (!class)
			return log_err(-ENOMEM, "mix the traffic");
		for (size_t k = 0; k < from->nedges; k++) {
			from->edges[k].from += load->nranks;
			from->edges[k].to += load->nranks;
		}
		*class = *from;
		class->pattern = LOAD_LIST; /* its pattern is now among only a part of the ranks */
		*from = (struct load_class){ 0 };
	}
	load->nranks += other->nranks;
	load->outside += other->outside;
	load->left_out += other->left_out;
	load_fini(other);
	return 0;
}

int load_mix(struct load *load, double own, struct load *other, double others)
{
	struct load_totals a = load_totals(load), b = load_totals(other);
	double sum, factor[2], period[2], end;

	if (a.end <= 0 || b.end <= 0)
		return log_why(-EINVAL,
			       "--mix: all requests of a trace have the same time: no rate");
	sum = (double)a.requests / (double)a.end + (double)b.requests / (double)b.end;
	/* the time that each traffic needs for its requests at its share of the rate */
	period[0] = (double)a.requests / (sum * own / (own + others));
	period[1] = (double)b.requests / (sum * others / (own + others));
	factor[0] = period[0] / (double)a.end;
	factor[1] = period[1] / (double)b.end;
	end = fmax(period[0], period[1]);
	stretch_load(load, factor[0], period[0], end);
	stretch_load(other, factor[1], period[1], end);
	return change_kinds(load, other) ?: move_classes(load, other);
}
