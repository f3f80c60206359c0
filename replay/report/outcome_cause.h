#pragma once
/*
 * Which divergence explains the differences at an object.
 *
 * All zero: empty. One thread at a time: outcome.c has the lock.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"

struct outcome_edge {
	uint32_t from, next; /* next: index + 1 of another edge to the same object; 0 none */
};

struct outcome_causes {
	struct map broken; /* object to cause: its state differs from the recorded one */
	struct map last;   /* object to cause: the completion that was compared last differed */
	struct map edges;  /* object to the first of its edges, index + 1 */
	struct outcome_edge *edge;
	uint32_t nedges;
};

/* No cause. */
#define OUTCOME_NO_CAUSE UINT64_MAX

/*
 * The cause of a difference at @object, or at @peer if a failure of @peer would explain the
 * difference.
 */
uint64_t outcome_cause_of(const struct outcome_causes *causes, uint32_t object, uint32_t peer);

/* The cause of the completion of @object that was compared last, if it differed. */
uint64_t outcome_cause_last(const struct outcome_causes *causes, uint32_t object);

/* A failure of @from explains a failure of @to. If out of memory, only the explanation is lost. */
void outcome_cause_add_edge(struct outcome_causes *causes, uint32_t from, uint32_t to);

/* @object differs because of @cause: its state (@breaks), or one of its completions. */
void outcome_cause_note(struct outcome_causes *causes, uint32_t object, uint64_t cause,
			bool breaks);

/* A completion of @object is as recorded; the state of @object is the recorded one. */
void outcome_cause_note_agreement(struct outcome_causes *causes, uint32_t object);
void outcome_cause_note_repair(struct outcome_causes *causes, uint32_t object);

void outcome_cause_fini(struct outcome_causes *causes);
