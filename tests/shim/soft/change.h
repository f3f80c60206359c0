#pragma once
/*
 * A text that is shown as its difference from another one, by pieces between commas
 */
#include <string.h>

#include "core/base/text.h"

/* Does @text have this piece, between two commas? */
static inline bool change_has_piece(const char *text, const char *piece, size_t n)
{
	for (size_t len; *text; text += len + 2 * (text[len] == ',')) {
		len = strstr(text, ", ") ? (size_t)(strstr(text, ", ") - text) : strlen(text);
		if (len == n && !memcmp(text, piece, n))
			return true;
	}
	return false;
}

/* The pieces of @from that @other does not have. */
static inline void change_show_other(struct text *text, const char *from, const char *other,
				     const char *before)
{
	for (size_t len; *from; from += len + 2 * (from[len] == ',')) {
		len = strstr(from, ", ") ? (size_t)(strstr(from, ", ") - from) : strlen(from);
		if (change_has_piece(other, from, len))
			continue;
		text_addf(text, "%s%.*s", before, (int)len, from);
		before = ", ";
	}
}

/* A result, as the difference from that of the unchanged call. */
static inline void change_show(struct text *text, const char *one, const char *base)
{
	if (!strcmp(one, base)) {
		text_addf(text, "the same");
	} else if (!strchr(one, ',') && !strchr(one, '{')) {
		text_addf(text, "%s", one);
	} else {
		change_show_other(text, one, base, "");
		change_show_other(text, base, one, " instead of ");
	}
}

/* What has the same result. */
struct change_result {
	struct text names, text;
};

static inline void change_add(struct change_result *results, size_t *n, const char *name,
			      const char *text)
{
	size_t i = 0;

	while (i < *n && strcmp(results[i].text.at, text) != 0)
		i++;
	if (i == *n) {
		results[(*n)++] = (struct change_result){ 0 };
		text_addf(&results[i].text, "%s", text);
	}
	text_addf(&results[i].names, "%s%s", results[i].names.used ? ", " : "", name);
}

static inline void change_show_all(struct text *text, struct change_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		text_addf(text, "\t%s:\n\t\t", results[i].names.at);
		change_show(text, results[i].text.at, results[0].text.at);
		text_addf(text, "\n");
	}
	for (size_t i = 0; i < n; i++) {
		text_fini(&results[i].names);
		text_fini(&results[i].text);
	}
}
