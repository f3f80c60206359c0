/*
 * Text in lines of 96 columns
 */
#include "analyzer/report/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"

enum { WIDTH = 96 };

static void wrap_words(FILE *out, int column, int indent, const char *text)
{
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (column + n > WIDTH && column > indent)
			column = fprintf(out, "\n%*s", indent, "") - 1;
		fwrite(text, 1, (size_t)n, out);
		column += n + 1;
		text += n;
		if (*text) {
			text++;
			if (column + (int)strcspn(text, " ") <= WIDTH)
				fputc(' ', out);
		}
	}
	fputc('\n', out);
}

void wrap_text(FILE *out, int column, int indent, const char *text)
{
	size_t size = PRINTABLE_GROWS * strlen(text) + 1;
	char *shown = malloc(size);

	if (shown)
		printable_text(shown, size, text, strlen(text));
	wrap_words(out, column, indent, shown ? shown : "");
	free(shown);
}
