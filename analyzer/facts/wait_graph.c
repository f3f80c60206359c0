/*
 * The wait-for graph: which node is to blame
 *
 *	0 --> 7 --> 6 --> 5	5 does not wait: it is to blame for all others
 *	4 --> 5
 *	2 --> 3 --> 4 --> 2	no node of a circle can continue
 *
 * First circles of firm links are found, which are certain; then nodes that do not wait. The
 * remaining nodes wait in circles of links that are not firm. If a node has several such links, it
 * likely waits for the one over which the fewest messages have come: in a step of a symmetric job,
 * each peer sends the same number.
 */
#include "analyzer/facts/wait_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

enum { BLAMES = 64 /* blames beyond this number are ignored */ };

/* Links sorted by one of their ends. */
struct ends_of {
	uint32_t *first; /* by node: index of its first in @link; [nnodes]: number of links */
	uint32_t *link;  /* indexes of links */
};

struct search {
	const bool *waits;
	const struct wait_link *links;
	size_t nnodes, nlinks;
	struct ends_of out, in;
	uint32_t *queue; /* of nodes */
	uint32_t *seen;  /* by node: the last search that has visited it */
	uint32_t searches;
	/* by node: it waits, directly or not, for a node that is to blame or unknown */
	bool *explained;
	uint32_t *next; /* by node: the chosen link that may form a circle; UINT32_MAX: none */
	struct wait_graph *graph;
};

static bool is_valid_link(const struct search *s, const struct wait_link *link)
{
	return link->from < s->nnodes && link->to < s->nnodes && link->from != link->to &&
	       s->waits[link->from];
}

static uint32_t end_of(const struct wait_link *link, bool from)
{
	return from ? link->from : link->to;
}

/* Sort the links by their node @from or to. */
static int sort_links(struct search *s, bool from, struct ends_of *ends)
{
	uint32_t *at = calloc(s->nnodes + 2, sizeof(*at));

	ends->first = at;
	ends->link = calloc(s->nlinks + 1, sizeof(*ends->link));
	if (!at || !ends->link)
		return -ENOMEM;
	for (size_t i = 0; i < s->nlinks; i++)
		if (is_valid_link(s, &s->links[i]))
			at[end_of(&s->links[i], from) + 2]++;
	for (size_t i = 2; i < s->nnodes + 2; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; i < s->nlinks; i++)
		if (is_valid_link(s, &s->links[i]))
			ends->link[at[end_of(&s->links[i], from) + 1]++] = (uint32_t)i;
	return 0;
}

static int begin_search(struct search *s)
{
	size_t n = s->nnodes + 1;

	s->queue = calloc(n, sizeof(*s->queue));
	s->seen = calloc(n, sizeof(*s->seen));
	s->explained = calloc(n, sizeof(*s->explained));
	s->next = calloc(n, sizeof(*s->next));
	s->graph->blamed = calloc(n, sizeof(*s->graph->blamed));
	if (!s->queue || !s->seen || !s->explained || !s->next || !s->graph->blamed)
		return -ENOMEM;
	s->graph->nnodes = s->nnodes;
	return sort_links(s, true, &s->out) ?: sort_links(s, false, &s->in);
}

static void end_search(struct search *s)
{
	free(s->queue);
	free(s->seen);
	free(s->explained);
	free(s->next);
	free(s->out.first);
	free(s->out.link);
	free(s->in.first);
	free(s->in.link);
}

/*
 * Visit all nodes that wait for the first @n nodes of the queue, directly or not, mark them as
 * explained, and append them to the queue. Returns their number; @direct: the number of those that
 * wait directly.
 */
static size_t find_waiters(struct search *s, size_t n, size_t *direct)
{
	size_t end = n;

	s->searches++;
	for (size_t i = 0; i < n; i++)
		s->seen[s->queue[i]] = s->searches;
	for (size_t i = 0; i < end; i++) {
		uint32_t node = s->queue[i];

		if (i == n && direct)
			*direct = end - n;
		for (uint32_t k = s->in.first[node]; k < s->in.first[node + 1]; k++) {
			uint32_t from = s->links[s->in.link[k]].from;

			if (s->seen[from] == s->searches)
				continue;
			s->seen[from] = s->searches;
			s->explained[from] = true;
			s->queue[end++] = from;
		}
	}
	if (direct && end == n)
		*direct = 0;
	return end - n;
}

/* The first @n nodes of the queue are to blame. 0 or -ENOMEM. */
static int add_blame(struct search *s, size_t n)
{
	struct wait_blame *blame = vec_push(s->graph->blames, s->graph->nblames);

	if (!blame || !(blame->nodes = calloc(n, sizeof(*blame->nodes))))
		return -ENOMEM;
	memcpy(blame->nodes, s->queue, n * sizeof(*blame->nodes));
	blame->n = n;
	for (size_t i = 0; i < n; i++)
		s->explained[s->queue[i]] = true;
	blame->all = find_waiters(s, n, &blame->direct);
	return 0;
}

/* Circles */

/* The least node of the circle of @node. */
static uint32_t find_least(const struct search *s, uint32_t node)
{
	uint32_t least = node;

	for (uint32_t at = s->links[s->next[node]].to; at != node; at = s->links[s->next[at]].to)
		least = at < least ? at : least;
	return least;
}

/*
 * Each node has one link, `next`: follow them from @node. If that ends in a new circle, put its
 * nodes into the queue and return their number; else 0.
 */
static size_t find_circle_from(struct search *s, uint32_t node)
{
	uint32_t begin;
	size_t n = 0;

	s->searches++;
	while (s->seen[node] != s->searches) {
		if (s->next[node] == UINT32_MAX || s->explained[node])
			return 0;
		s->seen[node] = s->searches;
		node = s->links[s->next[node]].to;
	}
	begin = find_least(s, node);
	node = begin;
	do {
		s->queue[n++] = node;
		node = s->links[s->next[node]].to;
	} while (node != begin);
	return n;
}

/* Is @link more likely than @than to be what its node waits for? */
static bool is_likelier(const struct wait_link *link, const struct wait_link *than)
{
	if (link->firm != than->firm)
		return link->firm;
	return link->received < than->received;
}

/*
 * Choose a link of each node that is not explained: a firm one, if @firm; else the likeliest one to
 * another node that is not explained.
 */
static void choose_links(struct search *s, bool firm)
{
	for (uint32_t node = 0; node < s->nnodes; node++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t k = s->out.first[node]; k < s->out.first[node + 1]; k++) {
			uint32_t at = s->out.link[k];
			const struct wait_link *link = &s->links[at];

			if (s->explained[link->to] || !s->waits[link->to] || (firm && !link->firm))
				continue;
			if (best == UINT32_MAX || is_likelier(link, &s->links[best]))
				best = at;
		}
		s->next[node] = best;
	}
}

static int find_circles(struct search *s, bool firm)
{
	int err = 0;

	choose_links(s, firm);
	for (uint32_t node = 0; node < s->nnodes && !err; node++) {
		size_t n = s->waits[node] && !s->explained[node] ? find_circle_from(s, node) : 0;

		if (n && s->graph->nblames < BLAMES)
			err = add_blame(s, n);
	}
	return err;
}

/* Nodes that do not wait */

static int find_blamed(struct search *s)
{
	int err = 0;

	for (uint32_t node = 0; node < s->nnodes && !err; node++) {
		if (s->waits[node] || s->in.first[node] == s->in.first[node + 1] ||
		    s->graph->nblames == BLAMES)
			continue;
		s->queue[0] = node;
		err = add_blame(s, 1);
	}
	return err;
}

/* Nodes that wait for something unknown are not to blame, nor are the nodes that wait for them. */
static void exclude_unknown(struct search *s)
{
	size_t n = 0;

	for (uint32_t node = 0; node < s->nnodes; node++) {
		if (!s->waits[node] || s->out.first[node] != s->out.first[node + 1])
			continue;
		s->explained[node] = true;
		s->queue[n++] = node;
	}
	find_waiters(s, n, NULL);
}

/* Results */

static int compare_blames(const void *a, const void *b)
{
	const struct wait_blame *x = a, *y = b;

	if (x->all + x->n != y->all + y->n)
		return x->all + x->n > y->all + y->n ? -1 : 1;
	if (x->direct != y->direct)
		return x->direct > y->direct ? -1 : 1;
	return x->nodes[0] < y->nodes[0] ? -1 : 1;
}

/* Set the blame that each node ultimately waits for: of several, the first. */
static void assign_nodes(struct search *s)
{
	struct wait_graph *graph = s->graph;

	for (size_t i = graph->nblames; i-- > 0;) {
		const struct wait_blame *blame = &graph->blames[i];
		size_t n;

		memcpy(s->queue, blame->nodes, blame->n * sizeof(*blame->nodes));
		n = blame->n + find_waiters(s, blame->n, NULL);
		for (size_t k = 0; k < n; k++)
			graph->blamed[s->queue[k]] = (uint32_t)i + 1;
	}
}

int wait_graph_build(const bool *waits, size_t nnodes, const struct wait_link *links, size_t nlinks,
		     struct wait_graph *ret_graph)
{
	struct wait_graph graph = { 0 };
	struct search s = {
		.waits = waits, .links = links, .nnodes = nnodes, .nlinks = nlinks, .graph = &graph
	};
	int err = begin_search(&s);

	if (!err)
		err = find_circles(&s, true);
	if (!err)
		err = find_blamed(&s);
	if (!err) {
		exclude_unknown(&s);
		err = find_circles(&s, false);
	}
	if (!err && graph.nblames) {
		qsort(graph.blames, graph.nblames, sizeof(*graph.blames), compare_blames);
		assign_nodes(&s);
	}
	end_search(&s);
	if (err)
		wait_graph_fini(&graph);
	else
		*ret_graph = graph;
	return err;
}

bool wait_blame_has(const struct wait_blame *blame, uint32_t node)
{
	for (size_t i = 0; i < blame->n; i++)
		if (blame->nodes[i] == node)
			return true;
	return false;
}

void wait_graph_fini(struct wait_graph *graph)
{
	for (size_t i = 0; i < graph->nblames; i++)
		free(graph->blames[i].nodes);
	free(graph->blames);
	free(graph->blamed);
	*graph = (struct wait_graph){ 0 };
}
