/*
 * The arguments of a call
 */
#include "core/store/db/args.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/desc.h"
#include "core/wire/log.h"

struct args {
	atomic_uint refs;
	bool parsed;
	struct json_node *root; /* NULL: not parsed yet, or not JSON */
	size_t size;
	char json[];
};

extern const struct enum_info *const enum_infos[];

struct args *args_new(const char *json, size_t n)
{
	struct args *args = malloc(sizeof(*args) + n + 1);

	if (!args)
		return NULL;
	*args = (struct args){ .refs = 1, .size = n };
	memcpy(args->json, json, n);
	args->json[n] = '\0';
	return args;
}

struct args *args_ref(struct args *args)
{
	if (args)
		atomic_fetch_add(&args->refs, 1);
	return args;
}

void args_unref(struct args *args)
{
	if (!args || atomic_fetch_sub(&args->refs, 1) != 1)
		return;
	free(args->root);
	free(args);
}

int args_parse(const struct args *args)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	struct args *unparsed =
		(struct args *)args; /* const for callers: parsing does not change its values */
	int err;

	if (!args || args->parsed)
		return 0;
	err = json_parse(args->json, args->size, &unparsed->root);
	if (err == -ENOMEM)
		return err;
	unparsed->parsed = true;
	if (err && !atomic_flag_test_and_set(&told))
		log_note("the trace is DAMAGED: what was written of the arguments of some calls "
			 "cannot be read, and is taken as not known");
	return 0;
}

const char *args_json(const struct args *args)
{
	return args ? args->json : NULL;
}

size_t args_size(const struct args *args)
{
	return args ? args->size : 0;
}

const struct json_node *args_root(const struct args *args)
{
	return args && !args_parse(args) ? args->root : NULL;
}

const struct json_node *args_member(const struct args *args, const char *name)
{
	return json_find_member(args_root(args), name, strlen(name));
}

/* Go one step of a path, "name" or "[3]"; moves *@path behind it and the dot. */
static const struct json_node *step_path(const struct json_node *at, const char **path)
{
	size_t n;
	char *end;

	if (**path == '[') {
		unsigned long i = strtoul(*path + 1, &end, 10);

		if (*end != ']')
			return NULL;
		*path = end + 1 + (end[1] == '.');
		return json_find_element(at, i);
	}
	n = strcspn(*path, ".[");
	at = json_find_member(at, *path, n);
	*path += n + ((*path)[n] == '.');
	return at;
}

static const struct json_node *find_path(const struct args *args, const char *path)
{
	const struct json_node *at = args_root(args);

	while (at && *path)
		at = step_path(at, &path);
	return at;
}

static bool find_enumerator(const char *name, int64_t *ret_value)
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
	const struct json_node *value = find_path(args, path);

	if (value && value->kind == JSON_INT) {
		*ret_value = value->number;
		return true;
	}
	return value && value->kind == JSON_TEXT && find_enumerator(value->text, ret_value);
}

uint64_t args_number(const struct args *args, const char *path)
{
	int64_t value;

	return args_get(args, path, &value) ? (uint64_t)value : 0;
}

const char *args_text(const struct args *args, const char *path)
{
	const struct json_node *value = find_path(args, path);

	return value && value->kind == JSON_TEXT ? value->text : NULL;
}
