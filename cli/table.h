#pragma once
/*
 * Results as a table: aligned text for people, or JSON for programs, from the same rows. Not
 * thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/read/listing.h"

struct table;

enum column_kind {
	COLUMN_TEXT,
	COLUMN_NUMBER, /* an identifier: printed unchanged */
	COLUMN_COUNT,  /* 12,345 */
	COLUMN_BYTES,  /* 1.2 MiB */
	COLUMN_LIMIT,  /* of a listing: bytes, or "unlimited"; in JSON a text */
	COLUMN_TIME,   /* ns, negative: not known; 12.3 us */
	COLUMN_STATUS, /* as of waitpid(), NULL not known; "exit 3", "SIGKILL" */
};

struct column {
	const char *name; /* in JSON; in text without its last word, if that is a unit: "mean_ns" */
	enum column_kind kind;
};

/*
 * @name: the table's in JSON, its headline in text; @columns ends with an element without a name.
 * Both borrowed.
 */
struct table *table_new(const char *name, const struct column *columns);

/* Add the next cell, from left to right; after the last column a new row begins. */
void table_number(struct table *table, int64_t value);
void table_text(struct table *table, const char *text); /* copied; NULL: nothing */

/* Add the rows of @list, which has the columns of the table. 0 or -errno after log_err(). */
int table_add_listing(struct table *table, struct trace *trace, enum listing_kind list);

/* Print the table as text; nothing if there are no rows. */
void table_print(const struct table *table);

/* As table_print(), but in a compact form if the table would be wider than @columns. */
void table_print_within(const struct table *table, int columns);

/* Print the table as a member of the JSON object that the caller is printing. */
void table_print_json(const struct table *table);

/* Accepts NULL. */
void table_free(struct table *table);

/* @text, and @n bytes, as a JSON string; null for NULL. */
void json_text(const char *text);
void json_bytes(const char *bytes, size_t n);
