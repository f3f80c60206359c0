/*
 * Values of a call's JSON, by path
 *
 * The only door to jansson.
 */
#include "core/store/db/args.h"

#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/desc.h"
#include "core/wire/log.h"

struct args {
	json_t *root;
};

extern const struct enum_info *const enum_infos[];

/*
 * What is no JSON is damaged, and costs its call only: no argument of it is
 * known. Said once.
 */
static json_t *load(const char *json)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	json_error_t error;
	json_t *root = json_loads(json ? json : "{}", JSON_ALLOW_NUL, &error);

	if (root || json_error_code(&error) == json_error_out_of_memory)
		return root;
	if (!atomic_flag_test_and_set(&told))
		log_note("the trace is DAMAGED: what was written of the arguments of some calls "
			 "cannot be read, and is taken as not known");
	return json_object();
}

int args_parse(const char *json, struct args **ret_args)
{
	struct args *args = malloc(sizeof(*args));

	if (!args)
		return -ENOMEM;
	args->root = load(json);
	if (!args->root) {
		free(args);
		return -ENOMEM;
	}
	*ret_args = args;
	return 0;
}

void args_free(struct args *args)
{
	if (!args)
		return;
	json_decref(args->root);
	free(args);
}

/* One step of a path: "name" or "[3]"; @path moves behind it and a dot. */
static json_t *step(json_t *at, const char **path)
{
	size_t n;
	char *end;

	if (**path == '[') {
		unsigned long i = strtoul(*path + 1, &end, 10);

		if (*end != ']')
			return NULL;
		*path = end + 1 + (end[1] == '.');
		return json_array_get(at, i);
	}
	n = strcspn(*path, ".[");
	at = json_object_getn(at, *path, n);
	*path += n + ((*path)[n] == '.');
	return at;
}

static json_t *find(const struct args *args, const char *path)
{
	json_t *at = args->root;

	while (at && *path)
		at = step(at, &path);
	return at;
}

static bool enumerator(const char *name, int64_t *ret_value)
{
	for (const struct enum_info *const *e = enum_infos; *e; e++)
		for (unsigned int i = 0; i < (*e)->nvalues; i++)
			if (!strcmp((*e)->values[i].name, name)) {
				*ret_value = (*e)->values[i].value;
				return true;
			}
	return false;
}

bool args_get(const struct args *args, const char *path, int64_t *ret_value)
{
	const json_t *value = find(args, path);

	if (json_is_integer(value)) {
		*ret_value = json_integer_value(value);
		return true;
	}
	return json_is_string(value) && enumerator(json_string_value(value), ret_value);
}

const char *args_text(const struct args *args, const char *path)
{
	return json_string_value(find(args, path));
}
