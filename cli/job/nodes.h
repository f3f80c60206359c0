#pragma once
/*
 * The names of the nodes of a job. Not thread-safe.
 */
#include <stddef.h>

#include "core/base/map.h"

enum { NODE_NAME = 128 };

struct nodes {
	char (*names)[NODE_NAME]; /* each once, in the order in which they were given */
	size_t n;
	struct map by_hash; /* of a name: 1 + index */
};

/*
 * Add the nodes of @text, as Slurm writes them: "n1,n[3-5,08],m2". 0, -EINVAL if the text is
 * invalid, or -ENOMEM.
 */
int nodes_add(struct nodes *nodes, const char *text);

/* Accepts zeroed @nodes. */
void nodes_fini(struct nodes *nodes);
