/*
 * A growing text
 */
#include "core/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/digits.h"
#include "core/base/printable.h"
#include "core/base/vec.h"

/* Space for @n more bytes and the terminating 0. */
static bool reserve_bytes(struct text *text, size_t n)
{
	if (!text->failed && text->used + n + 1 > text->size)
		text->failed = vec_reserve(text->at, text->size,
					   text->used + n + 1 < 256 ? 256 : text->used + n + 1);
	return !text->failed;
}

void text_add(struct text *text, const char *bytes, size_t n)
{
	if (!reserve_bytes(text, n))
		return;
	memcpy(text->at + text->used, bytes, n);
	text->used += n;
	text->at[text->used] = '\0';
}

char *text_space(struct text *text, size_t n)
{
	return reserve_bytes(text, n) ? text->at + text->used : NULL;
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	if (!reserve_bytes(text, 64))
		return;
	va_start(args, format);
	n = vsnprintf(text->at + text->used, text->size - text->used, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < text->size - text->used) {
		text->used += (size_t)n;
		return;
	}
	if (n < 0 || !reserve_bytes(text, (size_t)n))
		return;
	va_start(args, format);
	vsnprintf(text->at + text->used, text->size - text->used, format, args);
	va_end(args);
	text->used += (size_t)n;
}

void text_number(struct text *text, int64_t number)
{
	if (number < 0)
		text_char(text, '-');
	text_unsigned(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void text_unsigned(struct text *text, uint64_t number)
{
	char *at = text_space(text, DIGITS_MAX);

	if (!at)
		return;
	text->used += digits_decimal(at, number);
	text->at[text->used] = '\0';
}

void text_cut(struct text *text, size_t used)
{
	if (used >= text->used)
		return;
	text->used = used;
	text->at[used] = '\0';
}

void text_fini(struct text *text)
{
	free(text->at);
	*text = (struct text){ 0 };
}

/*
 * Add the JSON escape of a character that must not be printed raw; a NUL is replaced by another
 * character, since readers' strings cannot contain it.
 */
static void add_escape(struct text *text, uint32_t code)
{
	if (code == '"' || code == '\\')
		text_addf(text, "\\%c", (char)code);
	else if (code > 0xffff)
		text_addf(text, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
	else
		text_addf(text, "\\u%04x", code ? code : 0xfffdu);
}

/* Is the character the same in a JSON string? */
static inline bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* Add the first character, which is not a plain one. Returns its length. */
static size_t add_unusual(struct text *text, const char *bytes, size_t n)
{
	uint32_t code = (unsigned char)*bytes;
	size_t length = printable_utf8(bytes, n, &code);

	if (length && code != '"' && code != '\\' && printable_code(code))
		text_add(text, bytes, length);
	else
		add_escape(text, code);
	return length ? length : 1;
}

void text_json(struct text *text, const char *bytes, size_t n)
{
	const char *end = bytes + n, *from = bytes;

	text_char(text, '"');
	while (bytes < end) {
		for (from = bytes; bytes < end && is_plain(*bytes); bytes++)
			;
		text_add(text, from, (size_t)(bytes - from));
		if (bytes < end)
			bytes += add_unusual(text, bytes, (size_t)(end - bytes));
	}
	text_char(text, '"');
}

void text_printable(struct text *text, const char *from)
{
	size_t n = strlen(from), size = PRINTABLE_GROWS * n + 1;
	char *shown = malloc(size);

	text->failed = text->failed || !shown;
	if (shown)
		text_add(text, shown, printable_text(shown, size, from, n));
	free(shown);
}
