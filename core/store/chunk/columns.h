#pragma once
/*
 * The columns of the data plane, from core/wire/data.list
 *
 * A chunk is the data-plane events of one thread in order. Each event is a row of family EVENT; by
 * its kind also one of POST, POLL or NOTIFY. A post has nwr rows of WR; a work request has nsge
 * rows of SGE and, for each bit of `parts` (enum event_wr_part), one row of that part's family. A
 * poll has nwc rows of WC and, with KIND_EXTRA, as many of EXTRA. The rows of a family are in the
 * order of the events.
 *
 * A column's index in the list is its number in the file.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"
#include "gen/data_gen.h"

/* clang-format off */
enum family {
#define F(name) FAMILY_##name,
	EACH_FAMILY(F)
#undef F
	FAMILY_COUNT,
};

enum column_id {
#define C(family, column, name, member, type, wire) COLUMN_##column,
#define F(name)                                     FIELDS_##name(C)
	EACH_FAMILY(F)
#undef C
	COLUMN_COUNT,
};
/* clang-format on */

/* The values of column `kind`; KIND_INNER is added if the library or a provider was the caller. */
enum event_kind {
	KIND_POST_SEND = 1,
	KIND_POST_RECV,
	KIND_POST_SRQ_RECV,
	KIND_POLL,
	KIND_NOTIFY,
	KIND_INNER = 8,
	KIND_BUILT = 16, /* ibv_wr_complete */
	KIND_ABORTED,    /* ibv_wr_abort */
	KIND_POST_WQ_RECV,
	KIND_START_POLL, /* ibv_start_poll */
	KIND_NEXT_POLL,  /* ibv_next_poll */
	KINDS,
	KIND_MASK = 31 & ~KIND_INNER,
	/* a poll with rows of family EXTRA: fields that struct ibv_wc does not have */
	KIND_EXTRA = 32,
	KIND_FILLED = 64, /* a poll that returned as many completions as its array holds */
	KIND_FLAGS = KIND_INNER | KIND_EXTRA | KIND_FILLED,
};

#define KINDS_OF_POSTS                                                            \
	(1u << KIND_POST_SEND | 1u << KIND_POST_RECV | 1u << KIND_POST_SRQ_RECV | \
	 1u << KIND_BUILT | 1u << KIND_ABORTED | 1u << KIND_POST_WQ_RECV)

#define KINDS_OF_POLLS (1u << KIND_POLL | 1u << KIND_START_POLL | 1u << KIND_NEXT_POLL)

/* @kind must be without KIND_FLAGS. */
static inline bool kind_is_post(uint32_t kind)
{
	return KINDS_OF_POSTS >> kind & 1;
}

static inline bool kind_is_poll(uint32_t kind)
{
	return KINDS_OF_POLLS >> kind & 1;
}

/* The verb of each kind of post and poll. */
#define EACH_KIND_OF_VERB(_)                 \
	_(KIND_POST_SEND, post_send)         \
	_(KIND_POST_RECV, post_recv)         \
	_(KIND_POST_SRQ_RECV, post_srq_recv) \
	_(KIND_POLL, poll_cq)                \
	_(KIND_BUILT, wr_complete)           \
	_(KIND_ABORTED, wr_abort)            \
	_(KIND_POST_WQ_RECV, post_wq_recv)   \
	_(KIND_START_POLL, start_poll)       \
	_(KIND_NEXT_POLL, next_poll)

/* The verb of a post or a poll; VERB_COUNT if @kind is neither. */
static inline enum verb kind_verb(uint32_t kind)
{
	switch (kind) {
#define KIND(kind, verb) \
	case kind:       \
		return VERB_##verb;
		EACH_KIND_OF_VERB(KIND)
#undef KIND
	default:
		return VERB_COUNT;
	}
}

/* The inverse of kind_verb(); 0 if @verb is neither. */
uint32_t kind_of_verb(enum verb verb);

static const unsigned char column_family[COLUMN_COUNT] = {
#define C(family, column, name, member, type, wire) FAMILY_##family,
	EACH_FAMILY(F)
#undef C
#undef F
};

/* The bit of enum event_wc_part that marks a column of EXTRA as valid. */
unsigned int extra_part(enum column_id id);
