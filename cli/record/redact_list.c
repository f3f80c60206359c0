/*
 * The list of --redact
 */
#include "cli/record/redact_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *word;
	uint32_t what;
} words[] = {
	{ "argv", REDACT_ARGV },   { "env", REDACT_ENV },      { "host", REDACT_HOST },
	{ "paths", REDACT_PATHS }, { "none", REDACT_NOTHING },
};

static uint32_t find_word(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].word) == n && !strncmp(words[i].word, word, n))
			return words[i].what;
	return 0;
}

int redact_list_read(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	uint32_t all = 0;

	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ",");
		uint32_t what = find_word(at, n);

		if (!what) {
			snprintf(complaint, OPTIONS_COMPLAINT,
				 "--redact: '%.*s' is not argv, env, host, paths or none",
				 n < 60 ? (int)n : 60, at);
			return -EINVAL;
		}
		all |= what;
		at += n;
		if (!*at)
			break;
	}
	if (all & REDACT_NOTHING && all != REDACT_NOTHING) {
		snprintf(complaint, OPTIONS_COMPLAINT,
			 "--redact: none cannot be combined with other words");
		return -EINVAL;
	}
	*(uint32_t *)field = all;
	return 0;
}
