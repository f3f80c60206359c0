/* The evidence that two traces have about each other's clocks */
#include "analyzer/model/clock_edge.h"

#include <stdlib.h>

#include "core/base/vec.h"
#include "core/store/read/coverage.h"
#include "core/store/read/trace.h"

enum { EDGES = 4096 };

void clock_edges_fini(struct clock_edges *edges)
{
	for (size_t i = 0; i < edges->n; i++) {
		bounds_fini(&edges->all[i]->objects);
		bounds_fini(&edges->all[i]->all);
		bounds_fini(&edges->all[i]->likely);
		free(edges->all[i]);
	}
	free(edges->all);
}

struct clock_edge *clock_edge_get(struct clock_edges *edges, uint32_t one, uint32_t other)
{
	uint32_t a = one < other ? one : other, b = one < other ? other : one;
	struct clock_edge **place, *edge;

	for (size_t i = 0; i < edges->n; i++)
		if (edges->all[i]->a == a && edges->all[i]->b == b)
			return edges->all[i];
	edge = edges->n < EDGES ? calloc(1, sizeof(*edge)) : NULL;
	place = edge ? vec_push(edges->all, edges->n) : NULL;
	if (!place) {
		free(edge);
		return NULL;
	}
	edge->a = a;
	edge->b = b;
	*place = edge;
	return edge;
}

void clock_edge_add_order(const struct clock_edge *edge, struct bounds *bounds, uint32_t part,
			  int64_t cause, int64_t effect)
{
	if (part == edge->a)
		bounds_add_least(bounds, cause - effect, effect);
	else
		bounds_add_most(bounds, effect - cause, cause);
}

/* If messages are missing, the rest would be matched with the wrong ones. */
bool clock_has_messages(struct trace *trace)
{
	struct trace_loss loss = trace_loss(trace);
	const char *filter = trace_meta(trace, "filter");

	return !loss.events && !loss.damaged && trace_sampling_factor(trace) == 1 &&
	       !(filter && *filter) && !coverage_hides_data(trace);
}
