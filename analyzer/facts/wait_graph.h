#pragma once
/*
 * Who waits for whom, and who is to blame: a graph of processes, or of anything that waits.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wait_link {
	uint32_t from, to; /* nodes */
	/*
	 * @from can be woken only by @to. If false, another link may wake it instead: receives are
	 * posted for messages of several peers.
	 */
	bool firm;
	uint64_t received; /* of one that is not firm: messages that have come over it so far */
};

/* One that others wait for and that does not wait itself, or a circle. */
struct wait_blame {
	uint32_t *nodes; /* of a circle each waits for the next, and the last for the first */
	size_t n;        /* 1: not a circle */
	size_t direct;   /* nodes that wait for one of them, */
	size_t all;      /* also through others; without the nodes of the circle */
};

struct wait_graph {
	struct wait_blame *blames; /* the most waited for first */
	size_t nblames;
	uint32_t *blamed; /* by node: 1 + index of the node that it ultimately waits for; 0: none */
	size_t nnodes;
};

/*
 * @waits, by node: it waits for one of its links, or, without any, for something unknown. Links of
 * others are ignored. The caller ends with wait_graph_fini(). 0 or -ENOMEM.
 */
int wait_graph_make(const bool *waits, size_t nnodes, const struct wait_link *links, size_t nlinks,
		    struct wait_graph *ret_graph);

bool wait_blame_has(const struct wait_blame *blame, uint32_t node);

void wait_graph_fini(struct wait_graph *graph);
