/*
 * The object files with which the program was started
 *
 * They are in the loader's list when this library is loaded; the first verb writes them to the ring
 * (modules.c).
 */
#include "shim/trace/base/started.h"

#include <link.h>
#include <string.h>

enum { OBJECTS = 512 };

static void *objects[OBJECTS];
static unsigned int nobjects;
static bool has_verbs;

void started_remember(void)
{
	const struct link_map *map = _r_debug.r_map;

	for (; map && nobjects < OBJECTS; map = map->l_next) {
		objects[nobjects++] = map->l_ld; /* the dynamic section identifies the object */
		has_verbs |= map->l_name && (strstr(map->l_name, "/libibverbs.so") ||
					     strstr(map->l_name, "/librdmacm.so"));
	}
}

bool started_has_object(const void *dynamic)
{
	unsigned int i = 0;

	while (i < nobjects && objects[i] != dynamic)
		i++;
	return i < nobjects;
}

bool started_has_verbs(void)
{
	return has_verbs;
}

void *const *started_objects(unsigned int *ret_n)
{
	*ret_n = nobjects;
	return objects;
}
