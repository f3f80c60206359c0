#pragma once
/*
 * Loops: statements that come again and again, found while they are added in the order in which a
 * thread did them.
 *
 * One thread.
 */
#include "cli/emit/numbers.h"
#include "cli/emit/statement.h"

enum { LOOPS_DEEP = 6 };

/*
 * A statement with all of its turns, or a loop. All turns of a statement have one text; a loop is
 * run as often as what it stands in has turns, each time as many rounds as `rounds` says.
 */
struct node {
	uint64_t shape; /* equal: may be turns of one loop */
	/* of a statement */
	uint32_t text;
	uint32_t coming; /* the text of the event that it waits before; 0: it is one */
	uint32_t nvalues;
	size_t nturns;
	/* of a loop */
	unsigned int depth;  /* the most loops that are in each other; 1 also of a statement */
	struct node **parts; /* NULL: a statement */
	size_t nparts;
	struct numbers rounds;
	size_t nrounds;
	uint64_t open;           /* rounds of the last run, until loops_finish() */
	struct numbers_at at;    /* of loops_visit() */
	struct numbers values[]; /* of a statement: n of its events, then those in its slots */
};

struct block {
	struct node **at;
	size_t n;
	size_t held; /* the last ones, that may become a round of the loop before them */
};

/* Statement @s comes next, with its values. 0 or -ENOMEM. */
int loops_add(struct block *block, const struct statement *s, const int64_t *values);

/* No more come. 0 or -ENOMEM. */
int loops_finish(struct block *block);
void loops_fini(struct block *block);

/* Bytes that the nodes take. */
size_t loops_size(const struct block *block);

/* Its first statement. */
const struct node *loops_first(const struct node *node);

/* All statements of @node in the order in which they were added, with the n of their events. */
void loops_visit(struct node *node, void (*see)(void *arg, const struct node *node, uint64_t n),
		 void *arg);
