/*
 * Text in lines of 96 columns, or as many as the terminal has
 */
#include "analyzer/report/wrap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/highlight.h"
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

void wrap_mark(struct wrap_spans *spans, size_t from, size_t to, enum style style)
{
	if (spans->n == sizeof(spans->all) / sizeof(*spans->all))
		return;
	spans->all[spans->n].from = from;
	spans->all[spans->n].to = to;
	spans->all[spans->n++].style = style;
}

static enum style find_style(const struct wrap_spans *spans, size_t at)
{
	for (unsigned int i = 0; i < spans->n; i++)
		if (at >= spans->all[i].from && at < spans->all[i].to)
			return spans->all[i].style;
	return STYLE_PLAIN;
}

/* Print a word, unless @out is NULL. Returns its columns. */
static int put_word(FILE *out, const char *word, size_t n)
{
	size_t size = PRINTABLE_GROWS * n + 1;
	char *shown = malloc(size);
	size_t length = shown ? printable_text(shown, size, word, n) : 0;

	if (out && length)
		fwrite(shown, 1, length, out);
	free(shown);
	return (int)length;
}

/* A word outside of the spans: only a name in it has a style. */
static void put_plain(FILE *out, const char *word, size_t n)
{
	char *copy = strndup(word, n);

	highlight_text(out, copy ? copy : "");
	free(copy);
}

/* The blanks between two words stay, unless a line ends there; a style ends with its line. */
void wrap_styled(FILE *out, int column, int indent, const char *text,
		 const struct wrap_spans *spans)
{
	enum style style = STYLE_PLAIN;

	for (const char *at = text; *at;) {
		int blanks = (int)strspn(at, " ");
		const char *word = at + blanks;
		size_t n = strcspn(word, " ");
		int columns = put_word(NULL, word, n);
		bool breaks = n && column + blanks + columns > width && column > indent;
		enum style next = find_style(spans, (size_t)(word - text));

		if (style && (breaks || next != style))
			style_put(out, STYLE_PLAIN);
		if (breaks)
			column = fprintf(out, "\n%*s", indent, "") - 1;
		else if (n)
			column += fprintf(out, "%*s", blanks, "");
		if (next && (breaks || next != style))
			style_put(out, next);
		style = next;
		if (style)
			put_word(out, word, n);
		else
			put_plain(out, word, n);
		column += columns;
		at = word + n;
	}
	if (style)
		style_put(out, STYLE_PLAIN);
	fputc('\n', out);
}

void wrap_text(FILE *out, int column, int indent, const char *text)
{
	wrap_styled(out, column, indent, text, &(const struct wrap_spans){ 0 });
}
