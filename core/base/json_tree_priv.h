#pragma once
/*
 * Parsing one value of a tree, for json_shape.c.
 */
#include <stdbool.h>

#include "core/base/json_tree.h"

struct json_parser {
	const char *at, *end;
	struct json_node *nodes;
	uint32_t nnodes;
	char *texts; /* where the next unescaped name or text goes, behind the nodes */
	unsigned int depth;
};

/*
 * Parse the value at @p->at, with all its elements, into the next free nodes. False: it is not
 * JSON.
 */
bool json_parse_value(struct json_parser *p);
