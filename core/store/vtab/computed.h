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

enum computed_kind { COMPUTED_NULL, COMPUTED_INT, COMPUTED_TEXT };

/*
 * Receives a value: passes it on to SQLite; or, if @context is NULL, stores it until the next
 * value.
 */
struct computed_value {
	struct sqlite3_context *context; /* NULL: the value is stored in the members below */
	enum computed_kind kind;
	int64_t number;
	const char *text; /* points to @room or, if longer, to memory of the table's rows */
	size_t length;
	char room[64];
};

/* How a condition on a column limits the rows that are read. */
enum computed_key {
	COMPUTED_NO_KEY,
	COMPUTED_PROCESS, /* by its number */
	COMPUTED_OBJECT,  /* by its number; the table's argument also by its name */
	COMPUTED_TIME,    /* up to a given time */
};

struct computed_column {
	const char *name, *type;
	enum computed_key key;
	bool argument; /* it is an argument of the table: a hidden column */
};

/* Columns of a computed_table; conditions on a BOUND_COLUMN limit what is read. */
/* clang-format off */
#define INTEGER_COLUMN(name) { name, "INTEGER", COMPUTED_NO_KEY, false }
#define TEXT_COLUMN(name) { name, "TEXT", COMPUTED_NO_KEY, false }
#define BOUND_COLUMN(name, key) { name, "INTEGER", key, false }
/* clang-format on */

struct computed_bounds {
	uint32_t process, object; /* 0: not limited */
	int64_t to;               /* INT64_MAX: not limited */
	uint64_t used;            /* bit c: column c is needed */
};

struct computed_table {
	const char *name;
	const char *key;                       /* columns that identify a row: "thread, n" */
	const struct computed_column *columns; /* the last one has no name */
	bool reads_all; /* generating the rows reads all events of the trace */

	/* Begin reading. 0 or -errno after log_err(). @arg is the argument of computed_add(). */
	int (*open)(void *arg, const struct computed_bounds *bounds, void **ret_rows);

	/* Go to the next row; the first call goes to the first row. 1, 0 at the end, -errno. */
	int (*next)(void *rows);

	/* Set @value to column @column of the current row; NULL if it is not set. */
	void (*value)(void *rows, int column, struct computed_value *value);

	/* Accepts NULL. */
	void (*close)(void *rows);
};

void computed_set_int(struct computed_value *value, int64_t number);
/* copied; if @text is NULL, no value */
void computed_set_text(struct computed_value *value, const char *text);
/* the event's name; thread 0: no value */
void computed_set_event(struct computed_value *value, struct event_id id);

/* Write the name of an event into @text; returns where it begins in @text. */
enum { COMPUTED_EVENT_TEXT = 48 };
const char *computed_event_text(struct event_id id, char text[COMPUTED_EVENT_TEXT],
				size_t *ret_length);

/*
 * Add a table to the connection of @trace. @arg must live as long as the connection. 0 or -errno.
 */
int computed_add(struct trace *trace, const struct computed_table *table, void *arg);

/*
 * The same for a connection without a trace; the table must not have an object as a key. @release
 * is called with @arg when the table is removed, or cannot be added.
 */
int computed_add_released(struct sqlite3 *db, const struct computed_table *table, void *arg,
			  void (*release)(void *arg));
