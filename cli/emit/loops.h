#pragma once
/*
 * Detects loops, repeated statements, while the statements of a thread are added in their order.
 *
 * Not thread-safe.
 */
#include "cli/emit/numbers.h"
#include "cli/emit/statement.h"

enum { LOOPS_DEEP = 6 };

/*
 * A statement with all of its iterations, or a loop. All iterations of a statement have one text; a
 * loop runs once for each iteration of its surrounding loop, each time for as many rounds as
 * `rounds` says.
 */
struct node {
	uint64_t shape; /* nodes of equal shape may be iterations of one loop */
	/* members of a statement */
	uint32_t text;
	uint32_t coming; /* for a wait: the text of the event after it; 0: it is an event itself */
	uint32_t nvalues;
	size_t nturns;
	/* members of a loop */
	unsigned int depth;  /* nesting depth of loops; 1 also for a statement */
	struct node **parts; /* NULL: a statement */
	size_t nparts;
	struct numbers rounds;
	size_t nrounds;
	uint64_t open;        /* rounds of the last run, until loops_finish() */
	struct numbers_at at; /* of loops_visit() */
	/* for a statement: n of its events, then the values of its slots */
	struct numbers values[];
};

struct block {
	struct node **at;
	size_t n;
	size_t held; /* number of last nodes that may become a round of the loop before them */
};

/* Add statement @s, with its values. 0 or -ENOMEM. */
int loops_add(struct block *block, const struct statement *s, const int64_t *values);

/* After the last statement. 0 or -ENOMEM. */
int loops_finish(struct block *block);
void loops_fini(struct block *block);

/* The memory of the nodes in bytes. */
size_t loops_size(const struct block *block);

/* The first statement of @node. */
const struct node *loops_first(const struct node *node);

/*
 * Visit all statements of @node in the order in which they were added, with the n of their events.
 */
void loops_visit(struct node *node, void (*see)(void *arg, const struct node *node, uint64_t n),
		 void *arg);
