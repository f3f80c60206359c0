/*
 * A text that grows
 */
#include "core/store/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct text *text, size_t n)
{
	size_t size = text->size ? text->size : 256;
	char *at;

	if (text->failed)
		return false;
	if (text->used + n + 1 <= text->size)
		return true;
	while (size < text->used + n + 1)
		size *= 2;
	at = realloc(text->at, size);
	if (!at) {
		text->failed = true;
		return false;
	}
	text->at = at;
	text->size = size;
	return true;
}

void text_add(struct text *text, const char *bytes, size_t n)
{
	if (!reserve(text, n))
		return;
	memcpy(text->at + text->used, bytes, n);
	text->used += n;
	text->at[text->used] = '\0';
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	if (!reserve(text, 64))
		return;
	va_start(args, format);
	n = vsnprintf(text->at + text->used, text->size - text->used, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < text->size - text->used) {
		text->used += (size_t)n;
		return;
	}
	if (n < 0 || !reserve(text, (size_t)n))
		return;
	va_start(args, format);
	vsnprintf(text->at + text->used, text->size - text->used, format, args);
	va_end(args);
	text->used += (size_t)n;
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

/* Bytes of the UTF-8 sequence at @s, 0 if it is none (RFC 3629: no surrogates, shortest form). */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
		   s[0] < 0xf5 ? 4 : 0;

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void add_escape(struct text *text, unsigned char c)
{
	if (c == '"' || c == '\\')
		text_addf(text, "\\%c", c);
	else /* a NUL has no place in any reader's strings */
		text_addf(text, "\\u%04x", c ? c : 0xfffdu);
}

void text_json(struct text *text, const char *bytes, size_t n)
{
	const unsigned char *s = (const unsigned char *)bytes;

	text_char(text, '"');
	while (n) {
		size_t length = utf8_length(s, n);

		if (length > 1 || (length == 1 && *s >= ' ' && *s != '"' && *s != '\\')) {
			text_add(text, (const char *)s, length);
		} else {
			add_escape(text, *s);
			length = 1;
		}
		s += length;
		n -= length;
	}
	text_char(text, '"');
}
