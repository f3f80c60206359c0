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

void phrase_addf(struct phrase *phrase, const char *format, ...)
{
	char *text;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		phrase->text.failed = true;
		return;
	}
	text_add(&phrase->text, text, (size_t)n);
	free(text);
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
	if (phrase->nvalues == sizeof(phrase->values) / sizeof(*phrase->values)) {
		add_literal(phrase, letter, value);
		return;
	}
	phrase_addf(phrase, SLOT "%c", letter);
	phrase->values[phrase->nvalues++] = value;
}

void phrase_fini(struct phrase *phrase)
{
	text_fini(&phrase->text);
	memset(phrase, 0, sizeof(*phrase));
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}

/* Where two texts have one hash the later is put at the next. */
uint32_t texts_number(struct texts *texts, const char *text)
{
	uint64_t hash = hash_text(text), number;
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
	return map_put(&texts->by_hash, hash, texts->n) ? 0 : (uint32_t)texts->n;
}

void texts_fini(struct texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->at[i]);
	free(texts->at);
	map_fini(&texts->by_hash);
	memset(texts, 0, sizeof(*texts));
}

enum { LINE = 92, TAB = 8, SLOT_COLUMNS = 5 }; /* columns */

/* A line that goes on with a statement, by what it is: it may stand behind the one before. */
static bool goes_on(const char *line)
{
	return *line == '\t' || *line == '}';
}

/* A slot's number is wider than it. */
static size_t count_columns(const char *line, size_t length)
{
	size_t columns = length;

	for (size_t i = 0; i < length; i++)
		columns += line[i] == *SLOT ? SLOT_COLUMNS : 0;
	return columns;
}

/* Break a statement's lines where they are full, and nowhere else. */
static void fill_lines(struct text *text)
{
	char *from = text->at, *to = text->at;
	size_t columns = 0;

	while (from && *from) {
		size_t tabs = strspn(from, "\t"), length = strcspn(from + tabs, "\n");
		size_t width = count_columns(from + tabs, length);
		bool joins = to > text->at && goes_on(from) && columns + 1 + width <= LINE;

		if (from[tabs] == '}' && to > text->at + 1 && to[-2] == ',')
			to--; /* behind the last member */
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

int script_add(struct script *script, struct texts *texts, struct phrase *phrase, uint64_t n,
	       bool event)
{
	struct statement statement = { .n = n, .event = event, .nvalues = phrase->nvalues };
	size_t want = script->nvalues + phrase->nvalues;

	fill_lines(&phrase->text);
	statement.text =
		phrase->text.failed || !phrase->text.at ? 0 : texts_number(texts, phrase->text.at);
	if (!statement.text || vec_reserve(script->at, script->size, script->n + 1) ||
	    vec_reserve(script->values, script->values_size, want + 1))
		return -ENOMEM;
	statement.first = script->nvalues;
	memcpy(script->values + script->nvalues, phrase->values,
	       phrase->nvalues * sizeof(*phrase->values));
	script->nvalues = want;
	script->at[script->n++] = statement;
	text_cut(&phrase->text, 0);
	phrase->nvalues = 0;
	return 0;
}

void script_fini(struct script *script)
{
	free(script->at);
	free(script->values);
	memset(script, 0, sizeof(*script));
}
