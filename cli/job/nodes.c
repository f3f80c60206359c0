/*
 * The names of the nodes of a job
 */
#include "cli/job/nodes.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

enum { NODES_MAX = 1 << 17 };

void nodes_fini(struct nodes *nodes)
{
	free(nodes->names);
	map_fini(&nodes->by_hash);
	*nodes = (struct nodes){ 0 };
}

/* A name becomes a part of commands and of file names. */
static bool is_name(const char *name)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(".-_:", *at))
			return false;
	return *name && *name != '-' && *name != '.';
}

/* FNV-1a */
static uint64_t hash_name(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
	return h;
}

/* A node that the user names twice is asked once. */
static int add_name(struct nodes *nodes, const char *name)
{
	uint64_t hash = hash_name(name), at;
	char(*place)[NODE_NAME];

	if (!is_name(name) || strlen(name) >= NODE_NAME)
		return -EINVAL;
	if (map_get(&nodes->by_hash, hash, &at) && !strcmp(nodes->names[at - 1], name))
		return 0;
	if (nodes->n == NODES_MAX)
		return -EINVAL;
	place = vec_push(nodes->names, nodes->n);
	if (!place || map_put(&nodes->by_hash, hash, nodes->n))
		return -ENOMEM;
	snprintf(*place, NODE_NAME, "%s", name);
	return 0;
}

/* "08" or "3-5" of @range, which has @n bytes, between @before and @after. */
static int add_range(struct nodes *nodes, const char *before, const char *range, size_t n,
		     const char *after)
{
	size_t width = strspn(range, "0123456789"), more = 0;
	char name[NODE_NAME];
	unsigned long first, last;
	int err = 0;

	if (width < n && range[width] == '-')
		more = strspn(range + width + 1, "0123456789");
	if (!width || width > 9 || more > 9 || n != width + (more ? 1 + more : 0))
		return -EINVAL;
	first = strtoul(range, NULL, 10);
	last = more ? strtoul(range + width + 1, NULL, 10) : first;
	if (last < first || last - first > NODES_MAX)
		return -EINVAL;
	for (; first <= last && !err; first++) {
		if (snprintf(name, sizeof(name), "%s%0*lu%s", before, (int)width, first, after) >=
		    (int)sizeof(name))
			return -EINVAL;
		err = add_name(nodes, name);
	}
	return err;
}

/* One name, maybe with ranges: "n[3-5,08]-ib". */
static int add_item(struct nodes *nodes, char *item)
{
	char *open = strchr(item, '['), *close = open ? strchr(open, ']') : NULL;
	int err = 0;

	if (!open)
		return add_name(nodes, item);
	if (!close)
		return -EINVAL;
	*open = *close = '\0';
	for (char *at = open + 1; !err;) {
		size_t n = strcspn(at, ",");

		err = add_range(nodes, item, at, n, close + 1);
		if (!at[n])
			break;
		at += n + 1;
	}
	return err;
}

int nodes_add(struct nodes *nodes, const char *text)
{
	char item[4096];
	size_t used = 0;
	bool inside = false;
	int err = 0;

	for (const char *at = text; !err; at++) {
		inside = *at == '[' || (inside && *at != ']');
		if ((*at && *at != '\n' && *at != ',') || (*at == ',' && inside)) {
			if (used + 1 == sizeof(item))
				return -EINVAL;
			item[used++] = *at;
			continue;
		}
		item[used] = '\0';
		if (used)
			err = add_item(nodes, item);
		used = 0;
		if (!*at)
			break;
	}
	return err;
}
