/*
 * Output of the program
 */
#include "cli/torture/output.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/read_file.h"

void output_mask(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		bool begun = to > text && to[-1] == '#';

		if (begun && isxdigit((unsigned char)*from))
			continue;
		*to++ = isdigit((unsigned char)*from) ? '#' : *from;
	}
	*to = '\0';
}

char *output_read(const struct run *run, const char *name)
{
	char path[RUN_PATH + 16], *text;
	size_t bytes;

	return read_file(run_file(run, name, path), &text, &bytes) ? strdup("") : text;
}

bool output_find(const char *text, const char *word, char *line, size_t size)
{
	const char *at = strstr(text, word);

	if (!at)
		return false;
	while (at > text && at[-1] != '\n')
		at--;
	snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

bool output_find_in_run(const struct run *run, const char *word, char *line, size_t size)
{
	static const char *const names[] = { "err", "out" };
	bool found = false;

	for (size_t i = 0; i < 2 && !found; i++) {
		char *text = output_read(run, names[i]);

		found = text && output_find(text, word, line, size);
		free(text);
	}
	return found;
}
