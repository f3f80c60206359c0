#pragma once
/*
 * The wait-for graph: nodes are processes, or sets of threads, and some are to blame.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wait_link {
	uint32_t from, to; /* nodes */
	/*
	 * Only @to can wake @from. If false, another link may wake it instead: receives are posted
	 * for messages of several peers.
	 */
	bool firm;
	uint64_t received; /* of a link that is not firm: messages received over it so far */
};

/* A node that others wait for and that does not wait itself; or a circle of nodes. */
struct wait_blame {
	uint32_t *nodes; /* in a circle each node waits for the next, and the last for the first */
	size_t n;        /* 1: not a circle */
	size_t direct;   /* number of nodes that wait directly for one of `nodes` */
	size_t all; /* number of nodes that wait directly or through others; without the circle */
};

struct wait_graph {
	struct wait_blame *blames; /* sorted: most waiters first */
	size_t nblames;
	uint32_t *blamed; /* by node: 1 + index of the blame that it finally waits for; 0: none */
	size_t nnodes;
};

/*
 * @waits, by node: the node waits for one of its links or, if it has none, for something unknown.
 * Links of nodes that do not wait are ignored. Free by wait_graph_fini(). 0 or -ENOMEM.
 */
int wait_graph_build(const bool *waits, size_t nnodes, const struct wait_link *links, size_t nlinks,
		     struct wait_graph *ret_graph);

bool wait_blame_has(const struct wait_blame *blame, uint32_t node);

void wait_graph_fini(struct wait_graph *graph);
