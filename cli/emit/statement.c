/*
 * The statements of the C program
 */
#include "cli/emit/statement.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/hash.h"

static void add_unsigned(struct text *text, unsigned int number)
{
	char digits[16], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	text_add(text, at, (size_t)(digits + sizeof(digits) - at));
}

static void add_int(struct text *text, int number)
{
	if (number < 0)
		text_char(text, '-');
	add_unsigned(text, number < 0 ? -(unsigned int)number : (unsigned int)number);
}

static void add_formatted(struct text *text, const char *format, va_list args)
{
	char *made;
	int n = vasprintf(&made, format, args);

	if (n < 0) {
		text->failed = true;
		return;
	}
	text_add(text, made, (size_t)n);
	free(made);
}

/* Handles %s, %d and %u; from the first other conversion on it calls vasprintf(), which is slow. */
static void add_simple(struct text *text, const char *format, va_list args)
{
	for (;;) {
		const char *end = strchrnul(format, '%'), *string;

		text_add(text, format, (size_t)(end - format));
		if (!*end)
			return;
		format = end + 2;
		switch (end[1]) {
		case 's':
			string = va_arg(args, const char *);
			text_add(text, string, strlen(string));
			break;
		case 'd':
			add_int(text, va_arg(args, int));
			break;
		case 'u':
			add_unsigned(text, va_arg(args, unsigned int));
			break;
		default:
			add_formatted(text, end, args);
			return;
		}
	}
}

void phrase_addf(struct phrase *phrase, const char *format, ...)
{
	va_list args;

	if (phrase->ignored)
		return;
	va_start(args, format);
	add_simple(&phrase->text, format, args);
	va_end(args);
}

static void add_literal(struct phrase *phrase, char letter, int64_t value)
{
	if (letter == 'x')
		phrase_addf(phrase, "0x%" PRIx64, (uint64_t)value);
	else if (letter == 'd' || value)
		phrase_addf(phrase, letter == 'o' ? " + %" PRId64 : "%" PRId64, value);
}

void phrase_number(struct phrase *phrase, char letter, int64_t value)
{
	if (phrase->ignored)
		return;
	if (phrase->nvalues == sizeof(phrase->values) / sizeof(*phrase->values)) {
		add_literal(phrase, letter, value);
		return;
	}
	text_add(&phrase->text, SLOT, 1);
	text_char(&phrase->text, letter);
	phrase->values[phrase->nvalues++] = value;
}

void phrase_cut(struct phrase *phrase)
{
	text_cut(&phrase->text, 0);
	phrase->nvalues = 0;
}

void phrase_fini(struct phrase *phrase)
{
	text_fini(&phrase->text);
	phrase->nvalues = 0;
}

/* If two texts have the same hash, the later one takes the next cell. */
uint32_t texts_number(struct texts *texts, const char *text)
{
	uint64_t hash = hash_of(text, strlen(text), 0), number;
	char *copy, **place;

	for (; map_get(&texts->by_hash, hash, &number); hash++)
		if (!strcmp(texts->at[number - 1], text))
			return (uint32_t)number;
	copy = strdup(text);
	place = copy ? vec_push(texts->at, texts->n) : NULL;
	if (!place) {
		free(copy);
		return 0;
	}
	*place = copy;
	texts->bytes += strlen(copy) + 1;
	return map_put(&texts->by_hash, hash, texts->n) ? 0 : (uint32_t)texts->n;
}

void texts_fini(struct texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->at[i]);
	for (size_t i = 0; i < texts->nraw; i++)
		free(texts->raw[i]);
	free(texts->at);
	free(texts->raw);
	free(texts->filled);
	map_fini(&texts->by_hash);
	map_fini(&texts->raw_by_hash);
	memset(texts, 0, sizeof(*texts));
}

enum { LINE = 92, TAB = 8, SLOT_COLUMNS = 5 }; /* columns */

/* Does the line continue the statement of the previous line? */
static bool is_continuation(const char *line)
{
	return *line == '\t' || *line == '}';
}

/* Count the columns of a line: numbers are wider than their slots. */
static size_t count_columns(const char *line, size_t length)
{
	size_t columns = length;

	for (size_t i = 0; i < length; i++)
		columns += line[i] == *SLOT ? SLOT_COLUMNS : 0;
	return columns;
}

/* Break a statement's lines only where they are full. */
static void fill_lines(struct text *text)
{
	char *from = text->at, *to = text->at;
	size_t columns = 0;

	while (from && *from) {
		size_t tabs = strspn(from, "\t"), length = strcspn(from + tabs, "\n");
		size_t width = count_columns(from + tabs, length);
		bool joins = to > text->at && is_continuation(from) && columns + 1 + width <= LINE;

		if (from[tabs] == '}' && to > text->at + 1 && to[-2] == ',')
			to--; /* after the last member */
		if (to > text->at)
			to[-1] = joins ? ' ' : '\n';
		columns = joins ? columns + 1 + width : TAB * tabs + width;
		memmove(to, joins ? from + tabs : from, joins ? length : tabs + length);
		to += joins ? length : tabs + length;
		from += tabs + length;
		if (*from)
			*to++ = *from++;
	}
	if (text->at)
		text_cut(text, (size_t)(to - text->at));
}

static uint32_t add_raw(struct texts *texts, struct text *text, uint64_t hash)
{
	char **raw = vec_push(texts->raw, texts->nraw);
	uint32_t *filled = raw ? vec_push(texts->filled, texts->nfilled) : NULL;

	if (!filled)
		return 0;
	*raw = strdup(text->at);
	texts->bytes += text->used + 1;
	fill_lines(text);
	*filled = *raw ? texts_number(texts, text->at) : 0;
	return *filled && !map_put(&texts->raw_by_hash, hash, texts->nraw) ? *filled : 0;
}

/* The text number of the phrase with its lines filled: cached, since most phrases occur again. */
static uint32_t find_filled(struct texts *texts, struct text *text)
{
	uint64_t hash = hash_of(text->at, text->used, 0), number;

	for (; map_get(&texts->raw_by_hash, hash, &number); hash++)
		if (!strcmp(texts->raw[number - 1], text->at))
			return texts->filled[number - 1];
	return add_raw(texts, text, hash);
}

int script_add(struct script *script, struct texts *texts, struct phrase *phrase, uint64_t n,
	       bool event)
{
	struct statement statement = { .n = n, .event = event, .nvalues = phrase->nvalues };
	size_t want = script->nvalues + phrase->nvalues;

	statement.text =
		phrase->text.failed || !phrase->text.at ? 0 : find_filled(texts, &phrase->text);
	if (!statement.text || vec_reserve(script->at, script->size, script->n + 1) ||
	    vec_reserve(script->values, script->values_size, want + 1))
		return -ENOMEM;
	statement.first = script->nvalues;
	memcpy(script->values + script->nvalues, phrase->values,
	       phrase->nvalues * sizeof(*phrase->values));
	script->nvalues = want;
	script->at[script->n++] = statement;
	script->added++;
	phrase_cut(phrase);
	return 0;
}

void script_drop(struct script *script, size_t n)
{
	size_t first = n < script->n ? script->at[n].first : script->nvalues;

	script->n -= n;
	script->nvalues -= first;
	if (!script->n)
		return;
	memmove(script->at, script->at + n, script->n * sizeof(*script->at));
	memmove(script->values, script->values + first, script->nvalues * sizeof(*script->values));
	for (size_t i = 0; i < script->n; i++)
		script->at[i].first -= first;
}

void script_fini(struct script *script)
{
	free(script->at);
	free(script->values);
	memset(script, 0, sizeof(*script));
}
