/*
 * Looking up verbs, objects and enumerators by name
 *
 * scripts/gen-verbs generates the tables (gen/verbs_gen.c).
 */
#include "core/wire/desc.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "core/wire/hash.h"

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

enum { NAMES = 1024 };

/* Hash table by name without "ibv_": verb + 1; 0: a free slot. */
static uint16_t verb_of_name[NAMES];
static pthread_once_t names_filled = PTHREAD_ONCE_INIT;

static const char *skip_prefix(const char *name)
{
	return strncmp(name, "ibv_", 4) ? name : name + 4;
}

static size_t first_slot(const char *name)
{
	const char *bare = skip_prefix(name);

	return hash_of(bare, strlen(bare), 0) % NAMES;
}

static void fill_names(void)
{
	_Static_assert((int)VERB_COUNT < (int)NAMES / 2, "few verbs share a slot");
	for (int v = 0; v < VERB_COUNT; v++) {
		size_t at = first_slot(verb_infos[v].name);

		while (verb_of_name[at])
			at = (at + 1) % NAMES;
		verb_of_name[at] = (uint16_t)(v + 1);
	}
}

/* Two verbs have the same name: the first one is found, since verbs were hashed in their order. */
int verb_find(const char *name)
{
	size_t at = first_slot(name);

	pthread_once(&names_filled, fill_names);
	for (; verb_of_name[at]; at = (at + 1) % NAMES) {
		int v = verb_of_name[at] - 1;
		const char *its = verb_infos[v].name;

		if (!strcmp(its, name) || !strcmp(skip_prefix(its), name))
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
