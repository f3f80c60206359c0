/*
 * Classes of senders, and their patterns
 *
 *	one class for each sender -> alike ones joined -> edges that are a pattern split off
 *
 * A class has a pattern if it has all edges of the pattern, each equally often.
 */
#include "replay/load/load_join.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/wire/log.h"

enum { OPCODES = 16 };

static const double alike = 0.1;

/* The properties by which senders are compared. */
struct features {
	double requests[OPCODES], bytes, all;
};

static void find_features(const struct load *load, const struct load_track *track,
			  struct features *features)
{
	*features = (struct features){ 0 };
	for (size_t i = 0; i < track->n; i++) {
		const struct load_kind *kind = &load->kinds[track->requests[i].kind];

		features->requests[kind->opcode & (OPCODES - 1)]++;
		features->bytes += kind->bytes;
	}
	features->all = (double)track->n;
}

static bool is_near(double a, double b, double whole)
{
	return fabs(a - b) <= alike * whole;
}

static bool are_alike(const struct features *a, const struct features *b)
{
	double all = fmax(a->all, b->all);

	for (int i = 0; i < OPCODES; i++)
		if (!is_near(a->requests[i], b->requests[i], all) ||
		    !a->requests[i] != !b->requests[i])
			return false;
	return is_near(a->bytes, b->bytes, fmax(a->bytes, b->bytes));
}

/* Move the edge and the track of @from to @to. */
static int move_sender(struct load_class *to, struct load_class *from)
{
	struct load_track *track = vec_push(to->tracks, to->ntracks);
	struct load_edge *edge = track ? vec_push(to->edges, to->nedges) : NULL;

	if (!edge)
		return -ENOMEM;
	*track = from->tracks[0];
	*edge = from->edges[0];
	from->tracks[0] = (struct load_track){ 0 };
	if (from->depth > to->depth)
		to->depth = from->depth;
	load_fini_class(from);
	return 0;
}

static int merge_similar(struct load *load)
{
	struct features *features = calloc(load->nclasses ?: 1, sizeof(*features));
	size_t n = 0;
	int err = features ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < load->nclasses; i++) {
		struct load_class *class = &load->classes[i];
		struct features own;
		size_t k = 0;

		find_features(load, class->tracks, &own);
		while (k < n && (load->classes[k].transport != class->transport ||
				 !are_alike(&features[k], &own)))
			k++;
		if (k < n) {
			err = move_sender(&load->classes[k], class);
			continue;
		}
		features[n] = own;
		if (n != i) {
			load->classes[n] = *class;
			*class = (struct load_class){ 0 };
		}
		n++;
	}
	if (!err)
		load->nclasses = n;
	free(features);
	return err;
}

static int compare_edges(const struct load_edge *a, const struct load_edge *b)
{
	return a->from != b->from ? (a->from < b->from ? -1 : 1)
				  : (a->to > b->to) - (a->to < b->to);
}

struct sender {
	struct load_edge edge;
	struct load_track track;
};

static int compare_senders(const void *a, const void *b)
{
	const struct sender *x = a, *y = b;

	return compare_edges(&x->edge, &y->edge)
		       ?: (x->track.start > y->track.start) - (x->track.start < y->track.start);
}

/* Order the edges of @class, each with its track. 0 or -ENOMEM. */
static int sort_senders(struct load_class *class)
{
	struct sender *senders = calloc(class->nedges ?: 1, sizeof(*senders));

	if (!senders)
		return -ENOMEM;
	for (size_t i = 0; i < class->nedges; i++)
		senders[i] = (struct sender){ class->edges[i], class->tracks[i] };
	qsort(senders, class->nedges, sizeof(*senders), compare_senders);
	for (size_t i = 0; i < class->nedges; i++) {
		class->edges[i] = senders[i].edge;
		class->tracks[i] = senders[i].track;
	}
	free(senders);
	return 0;
}

static size_t count_edges(enum load_pattern pattern, uint32_t n)
{
	size_t count = 0;

	for (uint32_t from = 0; from < n; from++)
		for (uint32_t to = 0; to < n; to++)
			count += load_pattern_has(pattern, from, to, n);
	return count;
}

/* How often sorted @class has each edge of @pattern; 0: not all of them, or not equally often. */
static size_t count_pattern_times(const struct load_class *class, enum load_pattern pattern,
				  uint32_t n, size_t counts[LOAD_PATTERNS])
{
	size_t times = 0, different = 0, run;

	for (size_t i = 0; i < class->nedges; i += run) {
		const struct load_edge *edge = &class->edges[i];

		for (run = 1; i + run < class->nedges && !compare_edges(edge, edge + run);)
			run++;
		if (!load_pattern_has(pattern, edge->from, edge->to, n))
			continue;
		if (times && run != times)
			return 0;
		times = run;
		different++;
	}
	if (different && !counts[pattern])
		counts[pattern] = count_edges(pattern, n);
	return different == counts[pattern] ? times : 0;
}

/* Move the edges of @pattern of class @index to a new class. */
static int split_pattern(struct load *load, size_t index, enum load_pattern pattern)
{
	struct load_class *part = load_add_class(load), *whole = &load->classes[index];
	size_t left = 0;

	if (!part)
		return -ENOMEM;
	part->transport = whole->transport;
	part->pattern = pattern;
	part->depth = whole->depth;
	part->signal = whole->signal;
	for (size_t i = 0; i < whole->nedges; i++) {
		const struct load_edge edge = whole->edges[i];
		struct load_track track = whole->tracks[i];
		bool is = load_pattern_has(pattern, edge.from, edge.to, load->nranks);
		struct load_edge *to =
			is ? vec_push(part->edges, part->nedges) : &whole->edges[left];
		struct load_track *its =
			is ? vec_push(part->tracks, part->ntracks) : &whole->tracks[left++];

		if (!to || !its)
			return -ENOMEM;
		whole->tracks[i] = (struct load_track){ 0 };
		*to = edge;
		*its = track;
	}
	whole->nedges = whole->ntracks = left;
	return 0;
}

/* @counts: how many edges each pattern has; 0: not known yet. */
static int split_class(struct load *load, size_t index, size_t counts[LOAD_PATTERNS])
{
	uint32_t n = load->nranks;
	int err = sort_senders(&load->classes[index]);

	if (n < LOAD_PATTERN_RANKS || n > LOAD_RANKS_MOST)
		return err;
	for (unsigned int i = LOAD_LIST + 1; !err && i < LOAD_PATTERNS; i++) {
		enum load_pattern pattern = (enum load_pattern)i;

		if (load_pattern_takes(pattern, n) &&
		    count_pattern_times(&load->classes[index], pattern, n, counts))
			err = split_pattern(load, index, pattern);
	}
	return err;
}

/*
 * If @class is one ring, number its ranks along the ring, from rank 0 on. False: it is not one
 * ring, or is ring-back with the numbers that the ranks have.
 */
static bool assign_ring_ranks(const struct load_class *class, uint32_t n, uint32_t *number)
{
	uint32_t *next = calloc(n, sizeof(*next)), at = 0, done = 0;
	bool is = next && class->nedges == n, back = true;

	for (size_t i = 0; is && i < n; i++) {
		const struct load_edge *edge = &class->edges[i];

		is = !next[edge->from]; /* next[] is rank + 1; 0: none */
		next[edge->from] = edge->to + 1;
		back &= load_pattern_has(LOAD_RING_BACK, edge->from, edge->to, n);
	}
	is &= !back;
	for (; is && done < n && (done == 0 || at); done++) {
		number[at] = done;
		at = next[at] - 1;
	}
	free(next);
	return is && done == n && !at;
}

/* If all ranks of @class send to one, or one sends to all, number that rank 0. */
static bool assign_root_rank(const struct load_class *class, uint32_t n, uint32_t *number)
{
	const struct load_edge *first = class->edges, *second = first + 1;
	bool to = class->nedges > 1 && first->to == second->to;
	uint32_t root = to ? first->to : first->from;

	if (class->nedges != n - 1)
		return false;
	for (size_t i = 0; i < class->nedges; i++)
		if ((to ? class->edges[i].to : class->edges[i].from) != root)
			return false;
	for (uint32_t i = 0; i < n; i++)
		number[i] = i == root ? 0 : i < root ? i + 1 : i;
	return true;
}

static void renumber_edges(struct load *load, const uint32_t *number)
{
	for (size_t i = 0; i < load->nclasses; i++)
		for (size_t k = 0; k < load->classes[i].nedges; k++) {
			struct load_edge *edge = &load->classes[i].edges[k];

			*edge = (struct load_edge){ number[edge->from], number[edge->to] };
		}
}

/* Number ranks by a pattern: without a launcher they are numbered by the time of the first verb. */
static int assign_ranks(struct load *load)
{
	bool (*const ways[])(const struct load_class *class, uint32_t n,
			     uint32_t *number) = { assign_ring_ranks, assign_root_rank };
	uint32_t n = load->nranks, *number = calloc(n ?: 1, sizeof(*number));
	bool found = false;

	if (!number)
		return -ENOMEM;
	for (size_t way = 0; n >= LOAD_PATTERN_RANKS && !found && way < 2; way++)
		for (size_t i = 0; !found && i < load->nclasses; i++)
			found = ways[way](&load->classes[i], n, number);
	if (found)
		renumber_edges(load, number);
	free(number);
	return 0;
}

static void remove_empty(struct load *load)
{
	size_t n = 0;

	for (size_t i = 0; i < load->nclasses; i++) {
		if (!load->classes[i].nedges)
			load_fini_class(&load->classes[i]);
		else
			load->classes[n++] = load->classes[i];
	}
	load->nclasses = n;
}

static int compare_classes(const void *a, const void *b)
{
	const struct load_class *x = a, *y = b;

	return compare_edges(x->edges, y->edges)
		       ?: (x->tracks->start > y->tracks->start) -
				  (x->tracks->start < y->tracks->start);
}

int load_join(struct load *load)
{
	size_t counts[LOAD_PATTERNS] = { 0 }, n;
	int err = merge_similar(load);

	if (!err && !load->numbered)
		err = assign_ranks(load);
	n = load->nclasses;
	for (size_t i = 0; !err && i < n; i++)
		err = split_class(load, i, counts);
	if (err)
		return log_err(err, "find the patterns of the traffic");
	remove_empty(load);
	if (load->nclasses)
		qsort(load->classes, load->nclasses, sizeof(*load->classes), compare_classes);
	return 0;
}

int load_make_edges(struct load_class *class, enum load_pattern pattern, uint32_t n, uint32_t times)
{
	free(class->edges);
	class->edges = NULL;
	class->nedges = 0;
	class->pattern = pattern;
	for (uint32_t from = 0; from < n; from++)
		for (uint32_t to = 0; to < n; to++)
			for (uint32_t i = 0; i < times && load_pattern_has(pattern, from, to, n);
			     i++) {
				struct load_edge *edge = vec_push(class->edges, class->nedges);

				if (!edge)
					return -ENOMEM;
				*edge = (struct load_edge){ from, to };
			}
	return 0;
}
