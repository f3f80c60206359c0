#pragma once
/*
 * Traffic for tests: senders with equal requests. Included by one test program.
 */
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/model/operation.h"
#include "replay/load/load.h"
#include "tests/test.h"

/* @n requests of @bytes, each a microsecond after the one before. */
static inline void add_sender(struct load *load, uint32_t from, uint32_t to, size_t n,
			      uint32_t bytes)
{
	struct load_class *class = load_add_class(load);
	struct load_track *track = vec_push(class->tracks, class->ntracks);
	struct load_edge *edge = vec_push(class->edges, class->nedges);
	uint32_t kind;

	assert_int_equal(load_find_kind(load, ABI_WR_SEND, bytes, &kind), 0);
	*edge = (struct load_edge){ from, to };
	class->depth = 8;
	track->start = 100 * from;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(load_add_request(track, i ? 1000 : 0, kind), 0);
	load->nranks = load->nranks > from ? load->nranks : from + 1;
	load->nranks = load->nranks > to ? load->nranks : to + 1;
}

static inline void add_pattern(struct load *load, enum load_pattern pattern, uint32_t n,
			       uint32_t bytes)
{
	for (uint32_t from = 0; from < n; from++)
		for (uint32_t to = 0; to < n; to++)
			if (load_pattern_has(pattern, from, to, n))
				add_sender(load, from, to, 100, bytes);
}
