/*
 * Names of objects as users write them
 */
#include "core/store/db/object_name.h"

#include <stdlib.h>
#include <string.h>

/* Read the number after a slash: only digits, from 1. */
static bool read_process(const char *text, uint32_t *ret_process)
{
	unsigned long number = strtoul(text, NULL, 10);

	*ret_process = (uint32_t)number;
	return *text && !text[strspn(text, "0123456789")] && number && number <= UINT32_MAX;
}

bool object_name_read(const char *text, struct object_name *ret_name)
{
	const char *colon = strrchr(text, ':'), *name = colon ? colon + 1 : text;
	const char *slash = strchr(name, '/');
	size_t trace = colon ? (size_t)(colon - text) : 0;
	size_t n = slash ? (size_t)(slash - name) : strlen(name);
	struct object_name read = { .process = 0 };

	if (!n || n >= OBJECT_NAME || trace >= OBJECT_TRACE || (colon && !trace) ||
	    (slash && !read_process(slash + 1, &read.process)))
		return false;
	memcpy(read.trace, text, trace);
	memcpy(read.name, name, n);
	*ret_name = read;
	return true;
}
