#pragma once
/*
 * --json of a command that writes a file: one line about the file on standard output.
 *
 *	{"command":"trim","file":"part.db","bytes":163840,"events":96,"of_events":9115}
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* clang-format off */
/* The row of a command whose settings have bool json. */
#define WRITTEN_OPTION(settings)                                                            \
	{ "json", 0, NULL, "print a line of JSON about the written file",                   \
	  FLAG_AT(settings, json) }
/* clang-format on */

struct written_count {
	const char *name; /* NULL: the last */
	uint64_t n;
	bool is_flag; /* true or false */
};

#define WRITTEN_COUNT(name, n) \
	{                      \
		name, n, false \
	}
#define WRITTEN_FLAG(name, set) \
	{                       \
		name, set, true \
	}

/*
 * Print the line about @path, which @command has written, with @counts, which may be NULL. Nothing
 * for @path NULL: the result itself is on standard output. Returns 0, or -errno after log_err().
 */
int written_put(const char *command, const char *path, const struct written_count *counts);
