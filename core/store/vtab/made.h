#pragma once
/*
 * Virtual tables whose rows a higher layer generates.
 *
 * The higher layer describes a table and returns its rows one after the other; this module
 * implements SQLite's interface. The layer may also return rows that the query does not select.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct sqlite3;
struct sqlite3_context;
struct trace;

enum made_kind { MADE_NULL, MADE_INT, MADE_TEXT };

/*
 * Receives a value: passes it on to SQLite; or, if @context is NULL, stores it until the next
 * value.
 */
struct made_value {
	struct sqlite3_context *context; /* NULL: the value is stored in the members below */
	enum made_kind kind;
	int64_t number;
	const char *text; /* points to @room or, if longer, to memory of the table's rows */
	size_t length;
	char room[64];
};

/* How a condition on a column limits the rows that are read. */
enum made_key {
	MADE_NO_KEY,
	MADE_PROCESS, /* by its number */
	MADE_OBJECT,  /* by its number; the table's argument also by its name */
	MADE_TIME,    /* up to a given time */
};

struct made_column {
	const char *name, *type;
	enum made_key key;
	bool argument; /* it is an argument of the table: a hidden column */
};

/* Columns of a made_table; conditions on a BOUND_COLUMN limit what is read. */
/* clang-format off */
#define INTEGER_COLUMN(name) { name, "INTEGER", MADE_NO_KEY, false }
#define TEXT_COLUMN(name) { name, "TEXT", MADE_NO_KEY, false }
#define BOUND_COLUMN(name, key) { name, "INTEGER", key, false }
/* clang-format on */

struct made_bounds {
	uint32_t process, object; /* 0: not limited */
	int64_t to;               /* INT64_MAX: not limited */
	uint64_t used;            /* bit c: column c is needed */
};

struct made_table {
	const char *name;
	const char *key;                   /* columns that identify a row: "thread, n" */
	const struct made_column *columns; /* the last one has no name */
	bool reads_all;                    /* generating the rows reads all events of the trace */

	/* Begin reading. 0 or -errno after log_err(). @arg is the argument of made_add(). */
	int (*open)(void *arg, const struct made_bounds *bounds, void **ret_rows);

	/* Go to the next row; the first call goes to the first row. 1, 0 at the end, -errno. */
	int (*next)(void *rows);

	/* Set @value to column @column of the current row; NULL if it is not set. */
	void (*value)(void *rows, int column, struct made_value *value);

	/* Accepts NULL. */
	void (*close)(void *rows);
};

void made_int(struct made_value *value, int64_t number);
/* copied; if @text is NULL, no value */
void made_set_text(struct made_value *value, const char *text);
/* the event's name; thread 0: no value */
void made_set_event(struct made_value *value, struct event_id id);

/* Write the name of an event into @text; returns where it begins in @text. */
enum { MADE_EVENT_TEXT = 48 };
const char *made_event_text(struct event_id id, char text[MADE_EVENT_TEXT], size_t *ret_length);

/*
 * Add a table to the connection of @trace. @arg must live as long as the connection. 0 or -errno.
 */
int made_add(struct trace *trace, const struct made_table *table, void *arg);

/*
 * The same for a connection without a trace; the table must not have an object as a key. @release
 * is called with @arg when the table is removed, or cannot be added.
 */
int made_add_released(struct sqlite3 *db, const struct made_table *table, void *arg,
		      void (*release)(void *arg));
