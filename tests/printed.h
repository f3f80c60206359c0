#pragma once
/*
 * What a function prints to standard output, and to standard error if @both
 *
 *	printed_begin(false);
 *	outcome_text(outcome, stdout);
 *	printed_end(&text);	appended to it
 */
#include <unistd.h>

#include "core/base/text.h"
#include "tests/test.h"

static struct {
	FILE *file;
	int before[2]; /* -1: it is not taken */
} printed;

static inline void printed_take(int fd)
{
	printed.before[fd - 1] = dup(fd);
	dup2(fileno(printed.file), fd);
}

static inline void printed_begin(bool both)
{
	fflush(NULL);
	printed.file = tmpfile();
	assert_non_null(printed.file);
	printed.before[1] = -1;
	printed_take(STDOUT_FILENO);
	if (both)
		printed_take(STDERR_FILENO);
}

static inline void printed_end(struct text *text)
{
	char piece[4096];
	size_t n;

	fflush(NULL);
	for (int i = 0; i < 2 && printed.before[i] >= 0; i++) {
		dup2(printed.before[i], i + 1);
		close(printed.before[i]);
	}
	rewind(printed.file);
	while ((n = fread(piece, 1, sizeof(piece), printed.file)))
		text_addf(text, "%.*s", (int)n, piece);
	fclose(printed.file);
}
