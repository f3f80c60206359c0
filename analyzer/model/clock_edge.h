#pragma once
/*
 * The clock difference of two traces: an edge of the graph that clocks.c follows.
 *
 * Not thread-safe.
 */
#include "analyzer/model/bounds.h"

struct trace;

/* The difference between the clock of trace @b and that of @a, which has the lower number. */
struct clock_edge {
	uint32_t a, b;
	uint32_t pairs;       /* joined queue pairs */
	uint32_t connections; /* of librdmacm */
	uint64_t messages;
	struct bounds objects; /* from control verbs */
	struct bounds all;     /* bounds from messages; clocks.c adds others */
	/*
	 * The certain bounds, and one that nearly always holds: a receive is posted before the
	 * datagram that it receives. A receive posted while the datagram is in flight may take it,
	 * too.
	 */
	struct bounds likely;
};

struct clock_edges {
	struct clock_edge **all;
	size_t n;
};

void clock_edges_fini(struct clock_edges *edges);

/* The edge between two different traces. NULL: too many, or no memory. */
struct clock_edge *clock_edge_get(struct clock_edges *edges, uint32_t one, uint32_t other);

/*
 * @cause, in trace @part, was before @effect, in the other trace of @edge. Adds this to @bounds,
 * which belong to @edge.
 */
void clock_edge_add_order(const struct clock_edge *edge, struct bounds *bounds, uint32_t part,
			  int64_t cause, int64_t effect);

/* Does the trace contain all its messages? */
bool clock_has_messages(struct trace *trace);
