/*
 * The JSON of a call's arguments, read where it lies
 */
#include "cli/trace/jscan.h"

#include <string.h>

static const char *skip_text(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

const char *jscan_skip(const char *value)
{
	int depth = 0;

	do {
		if (*value == '"') {
			value = skip_text(value);
			continue;
		}
		if (*value == '{' || *value == '[')
			depth++;
		else if (*value == '}' || *value == ']')
			depth--;
		else if (*value == ',' && !depth)
			return value;
		if (depth < 0)
			return value;
		if (*value)
			value++;
	} while (*value && (depth || !strchr(",}]", *value)));
	return value;
}

const char *jscan_next(const char **at, const char **ret_name, size_t *ret_length)
{
	const char *value = *at, *end;

	if (!*value || !strchr("{[,", *value) || !value[1] || strchr("}]", value[1]))
		return NULL;
	value++;
	end = jscan_skip(value);
	*ret_name = NULL;
	*ret_length = 0;
	if (*value == '"') {
		const char *after = skip_text(value);

		if (*after == ':') {
			*ret_name = value + 1;
			*ret_length = (size_t)(after - value) - 2;
			value = after + 1;
			end = jscan_skip(value);
		}
	}
	*at = end;
	return value;
}

const char *jscan_member(const char *value, const char *name)
{
	const char *at = value, *member, *found;
	size_t length;

	if (*value != '{')
		return NULL;
	while ((member = jscan_next(&at, &found, &length)))
		if (found && strlen(name) == length && !strncmp(found, name, length))
			return member;
	return NULL;
}
