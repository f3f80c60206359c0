/* analyzer/facts/wait_graph.c */
#include "analyzer/facts/wait_graph.h"
#include "tests/test.h"

enum { NODES = 8, LINKS = 16 };

#define WAITS(from, to)            \
	{                          \
		from, to, false, 0 \
	}
#define FIRM(from, to)            \
	{                         \
		from, to, true, 0 \
	}

struct graph_case {
	bool idle[NODES];              /* it does not wait */
	struct wait_link links[LINKS]; /* until one from a node to itself */
};

static struct wait_graph make_graph(const struct graph_case *of)
{
	struct wait_graph graph;
	bool waits[NODES];
	size_t n = 0;

	for (size_t i = 0; i < NODES; i++)
		waits[i] = !of->idle[i];
	while (n < LINKS && of->links[n].from != of->links[n].to)
		n++;
	assert_int_equal(wait_graph_build(waits, NODES, of->links, n, &graph), 0);
	return graph;
}

static void check_blame(const struct graph_case *of, size_t nth, const char *nodes, size_t direct,
			size_t all)
{
	struct wait_graph graph = make_graph(of);
	const struct wait_blame *blame = &graph.blames[nth];
	char text[NODES * 2 + 1] = "";

	assert_true(nth < graph.nblames);
	for (size_t i = 0; i < blame->n; i++)
		snprintf(text + i, sizeof(text) - i, "%u", blame->nodes[i]);
	assert_string_equal(text, nodes);
	assert_int_equal(blame->direct, direct);
	assert_int_equal(blame->all, all);
	wait_graph_fini(&graph);
}

/* A ring of receives: each waits for the one before it, and 5 for nobody. */
static const struct graph_case ring = {
	.idle = { [5] = true },
	.links = { WAITS(0, 7), WAITS(1, 0), WAITS(2, 1), WAITS(3, 2), WAITS(4, 3), WAITS(5, 4),
		   WAITS(6, 5), WAITS(7, 6) },
};

TEST(who_does_not_wait_is_to_blame)
{
	check_blame(&ring, 0, "5", 1, 7);
}

TEST(all_that_wait_are_assigned_to_it)
{
	struct wait_graph graph = make_graph(&ring);

	assert_int_equal(graph.nblames, 1);
	for (size_t i = 0; i < NODES; i++)
		assert_int_equal(graph.blamed[i], 1);
	wait_graph_fini(&graph);
}

TEST(a_node_that_nobody_waits_for_is_not_to_blame)
{
	struct wait_graph graph = make_graph(&(struct graph_case){ .idle = { [1] = true } });

	assert_int_equal(graph.nblames, 0);
	wait_graph_fini(&graph);
}

/* 2, 3 and 4 send to each other; the others wait for messages, 2 also for one of 1. */
TEST(a_circle_of_firm_links_is_found_among_others)
{
	static const struct graph_case deadlock = {
		.links = { WAITS(0, 7), WAITS(1, 0), WAITS(2, 1), FIRM(2, 3), WAITS(3, 2),
			   FIRM(3, 4), FIRM(4, 2), WAITS(4, 3), WAITS(5, 4), WAITS(6, 5),
			   WAITS(7, 6) },
	};

	check_blame(&deadlock, 0, "234", 1, 5);
}

TEST(a_circle_of_others_is_found_by_what_has_come)
{
	/* 2 has got 3 messages of 1 and none of 4 */
	static const struct graph_case circle = {
		.links = { { 0, 7, false, 3 },
			   { 1, 0, false, 3 },
			   { 2, 1, false, 3 },
			   WAITS(2, 4),
			   WAITS(3, 2),
			   { 3, 1, false, 1 },
			   WAITS(4, 3),
			   { 5, 4, false, 3 },
			   { 6, 5, false, 3 },
			   { 7, 6, false, 3 } },
	};

	check_blame(&circle, 0, "243", 1, 5);
}

/* All receive from all others, but 3 does something else. */
TEST(one_that_does_not_wait_is_found_among_circles)
{
	static const struct graph_case mesh = {
		.idle = { [3] = true, [4] = true, [5] = true, [6] = true, [7] = true },
		.links = { WAITS(0, 1),
			   WAITS(0, 2),
			   { 0, 3, false, 9 },
			   WAITS(1, 0),
			   WAITS(1, 2),
			   WAITS(2, 0),
			   WAITS(2, 1) },
	};

	check_blame(&mesh, 0, "3", 1, 3);
}

TEST(who_waits_for_something_unknown_is_not_to_blame)
{
	static const struct graph_case outside = { .links = { WAITS(0, 1), WAITS(2, 1) } };
	struct wait_graph graph = make_graph(&outside);

	assert_int_equal(graph.nblames, 0);
	wait_graph_fini(&graph);
}

/* 0 and 2 wait for each other, but 0 may also be continued by 1. */
TEST(a_circle_that_something_unknown_may_end_is_not_to_blame)
{
	static const struct graph_case outside = { .links = { { 0, 2 }, { 2, 0 }, { 0, 1 } } };
	struct wait_graph graph = make_graph(&outside);

	assert_int_equal(graph.nblames, 0);
	wait_graph_fini(&graph);
}

TEST(the_most_waited_for_is_the_first)
{
	static const struct graph_case two = {
		.idle = { [0] = true, [1] = true },
		.links = { WAITS(2, 0), WAITS(3, 1), WAITS(4, 3), FIRM(5, 0), WAITS(5, 1),
			   WAITS(6, 1) },
	};

	check_blame(&two, 0, "1", 3, 4);
	check_blame(&two, 1, "0", 2, 2);
}

TEST(one_more_that_waits_is_enough_to_be_the_first)
{
	static const struct graph_case two = {
		.idle = { [0] = true, [1] = true },
		.links = { { 2, 0 }, { 3, 1 }, { 4, 1 } },
	};

	check_blame(&two, 0, "1", 2, 2);
	check_blame(&two, 1, "0", 1, 1);
}
