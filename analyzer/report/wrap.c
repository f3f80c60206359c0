/*
 * Text in lines of 96 columns, or as many as the terminal has
 */
#include "analyzer/report/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"

enum { WIDTH = 96, NARROWEST = 40, WIDEST = 120 };

static int width = WIDTH;

void wrap_to_columns(int columns)
{
	width = columns < NARROWEST ? NARROWEST : columns > WIDEST ? WIDEST : columns;
}

int wrap_columns(void)
{
	return width;
}

/* The blanks between two words stay, unless a line ends there. */
static void wrap_words(FILE *out, int column, int indent, const char *text)
{
	while (*text) {
		int blanks = (int)strspn(text, " "), n = (int)strcspn(text + blanks, " ");

		if (n && column + blanks + n > width && column > indent)
			column = fprintf(out, "\n%*s", indent, "") - 1;
		else if (n)
			column += fprintf(out, "%*s", blanks, "");
		fwrite(text + blanks, 1, (size_t)n, out);
		column += n;
		text += blanks + n;
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
