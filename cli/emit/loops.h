#pragma once
/*
 * Loops: statements that come again and again, found in the order in which a thread did them.
 *
 * One thread.
 */
#include "cli/emit/statement.h"

/*
 * A statement with all of its turns, or a loop. All turns of a statement have one text; a loop is
 * run as often as what it stands in has turns, each time as many rounds as `rounds` says.
 */
struct node {
	uint64_t shape; /* equal: may be turns of one loop */
	size_t *turns;  /* of a statement: its places in the script, in order */
	size_t nturns;
	size_t *rounds; /* of a loop */
	size_t nrounds;
	struct node **parts; /* of a loop; NULL: a statement */
	size_t nparts;
};

struct block {
	struct node **at;
	size_t n;
};

/* 0 or -ENOMEM. */
int loops_find(const struct script *script, struct block *ret_block);
void loops_fini(struct block *block);
