#pragma once
/*
 * Places in the program as text, with as many callers as are needed to distinguish the rows of a
 * list:
 *
 *	send_post < reply < request_arrived (FILE:77)
 *
 * Functions of the verbs headers are left out. Not thread-safe.
 */
#include "analyzer/report/report.h"

struct places;

/* @symbols NULL: no place is known. NULL if out of memory. */
struct places *places_new(struct trace *trace, struct symbols *symbols);

/* Accepts NULL. */
void places_free(struct places *places);

/*
 * Add the row of place @stack to list @list. Only rows of one list are distinguished. Add all rows
 * before calling places_text().
 */
void places_add(struct places *places, uint32_t list, uint32_t stack);

/* The same for a stack whose functions are known: @symbols, the innermost first. */
void places_put(struct places *places, uint32_t list, uint32_t stack, const struct symbol *symbols,
		unsigned int n);

/*
 * The text of a row that was added; NULL: not known. Borrowed until places_free(), or until a row
 * is added. @places may be NULL.
 */
const char *places_text(struct places *places, uint32_t list, uint32_t stack);

/*
 * The function that called the verb, without its callers: "reply (FILE:52)",
 * "reply+0x79 (app)".
 * Returns @text; "": not known.
 */
const char *place_line(const struct report *report, uint32_t stack, char *text, size_t size);

/*
 * The function that called the verb, as a symbol borrowed from the report's symbols; false: not
 * known.
 */
bool place_symbol(const struct report *report, uint32_t stack, struct symbol *ret_symbol);

/* Shorten a text to @width bytes: callers in the middle are left out first. Returns @text. */
const char *place_fit(const char *place, size_t width, char *text, size_t size);
