/*
 * Packing and unpacking of a recorded example: bundle_test.txt
 */
#include "tests/cli/run.h"

#include <ctype.h>

GROUP(run_begin, run_end);

/* Sizes and digests of files: one has an output of `verbatim doctor`. They are aligned. */
static void mask_numbers(char *text)
{
	for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *name = line + strspn(line, " ");
		char *size = name + strcspn(name, " \n");
		char *end = strstr(size + strspn(size, " "), "  ");

		if (name != line + 2 || !isdigit((unsigned char)size[strspn(size, " ")]) || !end ||
		    end[-1] != 'B')
			continue;
		memset(size, '#', (size_t)(end - size));
		if (strspn(end + 2, "0123456789abcdef") == 64)
			memset(end + 2, '#', 64);
	}
}

TEST(bundles_are_those_of_the_transcript)
{
	run_mask = mask_numbers;
	run_transcript(__FILE__);
}
