/*
 * Names in sentences, by their shape
 *
 * Sentences are made in many places as plain text, which also goes into JSON and SARIF; a name in
 * them is recognised where a line is printed for a terminal.
 */
#include "analyzer/report/highlight.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/wire/desc.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t measure_digits(const char *at, const char *end)
{
	const char *from = at;

	while (at < end && is_digit(*at))
		at++;
	return (size_t)(at - from);
}

/* "1:42", "1:42[3]" */
static size_t measure_event(const char *at, const char *end)
{
	size_t thread = measure_digits(at, end), n, index;

	if (!thread || at + thread == end || at[thread] != ':')
		return 0;
	n = measure_digits(at + thread + 1, end);
	if (!n)
		return 0;
	n += thread + 1;
	index = at + n < end && at[n] == '[' ? measure_digits(at + n + 1, end) : 0;
	return index && at + n + 1 + index < end && at[n + 1 + index] == ']' ? n + index + 2 : n;
}

/* "qp3"; "qp3/2": qp3 of process 2 */
static size_t measure_object(const char *at, const char *end)
{
	for (int kind = 0; kind < OBJECT_COUNT; kind++) {
		const char *name = object_names[kind];
		size_t n = strlen(name), digits, process;

		if ((size_t)(end - at) <= n || memcmp(at, name, n) != 0)
			continue;
		digits = measure_digits(at + n, end);
		if (!digits)
			continue;
		n += digits;
		process = at + n < end && at[n] == '/' ? measure_digits(at + n + 1, end) : 0;
		return process ? n + 1 + process : n;
	}
	return 0;
}

/* "LIFE-001" */
static size_t measure_rule(const char *at, const char *end)
{
	enum { DIGITS = 3 };
	size_t n = 0;

	while (at + n < end && at[n] >= 'A' && at[n] <= 'Z')
		n++;
	if (!n || at + n == end || at[n] != '-')
		return 0;
	return measure_digits(at + n + 1, end) == DIGITS ? n + 1 + DIGITS : 0;
}

static bool is_name_end(const char *at, const char *end)
{
	if (at == end)
		return true;
	if (strchr(".:", *at)) /* the end of a sentence or a clause */
		return at + 1 == end;
	return !is_digit(*at) && !(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') &&
	       !strchr("_-/", *at);
}

static size_t span_name(const char *at, const char *end)
{
	size_t length = measure_event(at, end) ?: measure_object(at, end) ?: measure_rule(at, end);

	return length && is_name_end(at + length, end) ? length : 0;
}

size_t highlight_name(const char *word, size_t n, size_t *ret_at)
{
	for (size_t at = 0; at < n; at++) {
		size_t length = !at || strchr("(\"'`[=,", word[at - 1])
					? span_name(word + at, word + n)
					: 0;

		*ret_at = at;
		if (length)
			return length;
	}
	return 0;
}

void highlight_text(FILE *out, const char *text)
{
	while (*text) {
		size_t blanks = strspn(text, " "), n = strcspn(text + blanks, " "), at;
		size_t length = highlight_name(text + blanks, n, &at);

		if (!length)
			at = n;
		print_untrusted_bytes(out, text, blanks + at);
		text += blanks + at;
		if (length) {
			style_put(out, STYLE_NAME);
			print_untrusted_bytes(out, text, length);
			style_put(out, STYLE_PLAIN);
			print_untrusted_bytes(out, text + length, n - at - length);
			text += n - at;
		}
	}
}
