/*
 * A line of a dump, cut to the width of a terminal
 *
 * Arguments are long, and the result of a call follows them: the result is shown, and the end of
 * the arguments is left out.
 */
#include "cli/dump/line.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/style.h"
#include "core/base/printable.h"

enum { DOTS = 3 };

FILE *line_begin(struct line *line)
{
	if (!line->columns)
		return stdout;
	if (!line->kept)
		line->kept = open_memstream(&line->text, &line->size);
	return line->kept ? line->kept : stdout;
}

/* East Asian characters and pictures are two columns wide: Unicode's annex 11, roughly. */
static int count_columns(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} wide[] = { { 0x1100, 0x115f }, { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },
		     { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
		     { 0xffe0, 0xffe6 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd } };

	for (size_t i = 0; i < sizeof(wide) / sizeof(*wide); i++)
		if (code >= wide[i].first && code <= wide[i].last)
			return 2;
	return 1;
}

/* The bytes of the next character, or of a colour sequence, which takes no column. */
static size_t read_character(const char *text, size_t n, int *ret_columns)
{
	size_t length = style_length(text, n);
	uint32_t code = 0;

	*ret_columns = 0;
	if (length)
		return length;
	length = printable_utf8(text, n, &code);
	*ret_columns = length ? count_columns(code) : 1;
	return length ? length : 1;
}

static int count_width(const char *text, size_t n)
{
	int columns, width = 0;

	for (size_t at = 0; at < n; width += columns)
		at += read_character(text + at, n - at, &columns);
	return width;
}

/* The bytes that fit into @room columns. */
static size_t fit_bytes(const char *text, size_t n, int room)
{
	size_t at = 0;

	while (at < n) {
		int columns;
		size_t length = read_character(text + at, n - at, &columns);

		room -= columns;
		if (room < 0)
			break;
		at += length;
	}
	return at;
}

/* The result of a call at the end, ") = 0 <12.3 us>"; NULL: not returned. */
static const char *find_result(const char *text, size_t n)
{
	const char *found = NULL;

	for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), ") = ", 4)); at++)
		found = at;
	return found;
}

bool line_cut(const char *text, size_t n, int columns, size_t *ret_head, size_t *ret_tail)
{
	const char *result = find_result(text, n);
	int width;

	*ret_head = n;
	*ret_tail = 0;
	if (count_width(text, n) <= columns)
		return false;
	if (result) {
		*ret_tail = n - (size_t)(result - text);
		width = count_width(result, *ret_tail);
		if (width > columns / 2)
			*ret_tail = 0;
		else
			columns -= width;
	}
	*ret_head = fit_bytes(text, n, columns > DOTS ? columns - DOTS : 0);
	return true;
}

void line_end(struct line *line)
{
	size_t head, tail;

	if (!line->kept) {
		putchar('\n');
		return;
	}
	fflush(line->kept);
	if (line_cut(line->text, line->size, line->columns, &head, &tail)) {
		fwrite(line->text, 1, head, stdout);
		style_put(stdout, STYLE_PLAIN);
		fputs("...", stdout);
		fwrite(line->text + line->size - tail, 1, tail, stdout);
		style_put(stdout, STYLE_PLAIN);
	} else {
		fwrite(line->text, 1, line->size, stdout);
	}
	putchar('\n');
	rewind(line->kept);
}

void line_fini(struct line *line)
{
	if (line->kept)
		fclose(line->kept);
	free(line->text);
}
