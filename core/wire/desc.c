/*
 * Looking up verbs, objects and enumerators by name
 *
 * The tables themselves are made by scripts/gen-verbs (gen/verbs_gen.c).
 */
#include "core/wire/desc.h"

#include <string.h>

extern const struct enum_info *const enum_infos[];

const struct enum_info *enum_find(const char *name)
{
	for (const struct enum_info *const *e = enum_infos; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

const char *enum_name(const struct enum_info *info, int64_t value)
{
	for (unsigned int i = 0; info && i < info->nvalues; i++)
		if (info->values[i].value == value)
			return info->values[i].name;
	return NULL;
}

int verb_find(const char *name)
{
	for (int v = 0; v < VERB_COUNT; v++) {
		const char *its = verb_infos[v].name;

		if (!strcmp(its, name) || (!strncmp(its, "ibv_", 4) && !strcmp(its + 4, name)))
			return v;
	}
	return -1;
}

int object_find(const char *name)
{
	for (int k = 0; k < OBJECT_COUNT; k++)
		if (!strcmp(object_names[k], name))
			return k;
	return -1;
}

bool verb_failed(enum verb verb, int64_t ret)
{
	switch (verb_infos[verb].fail) {
	case FAIL_NULL:
		return !ret;
	case FAIL_NONZERO:
		return ret;
	case FAIL_NEGATIVE:
		return ret < 0;
	default:
		return false;
	}
}
