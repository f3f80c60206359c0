#pragma once
/*
 * The data plane as tables: the list of their columns. The virtual tables (vtab.c) and the tables
 * of an unpacked trace (unpack.c) are generated from it.
 */
#include "core/store/chunk/columns.h"
#include "core/base/text.h"

/* Sources of the values of a column. */
enum value {
	VALUE_THREAD,
	VALUE_N,
	VALUE_I, /* index of the work request or completion in the event */
	VALUE_J, /* index of the element in the work request */
	VALUE_TIME,
	VALUE_PROCESS,
	VALUE_INNER,
	VALUE_FILLED,
	VALUE_COLUMN, /* a column of the chunk, unchanged */
	VALUE_PART,   /* the same; NULL if the request lacks the part */
	VALUE_EXTRA,  /* the same; NULL if the completion lacks the field */
	VALUE_OBJECT, /* QP or SRQ of a post: its id */
	VALUE_QP,     /* the same, but NULL if it is not a QP */
	VALUE_SRQ,
	VALUE_CQ,
	VALUE_WC_QP,
	VALUE_VERB,
	VALUE_STACK,     /* stack of a post or poll; NULL if unknown */
	VALUE_NOT_TAKEN, /* 1: the post failed at this request or before it */
	VALUE_OPCODE,    /* opcode of a request; NULL for a receive */
	VALUE_SEND_FLAGS,
	VALUE_NUM_SGE,
	VALUE_BYTES, /* sum of the elements' lengths */
	VALUE_NAME,  /* the name of the enumerator in the previous column */
	VALUE_KIND,  /* this and the next four: of a payload */
	VALUE_LENGTH,
	VALUE_CAPTURED,
	VALUE_BEFORE,
	VALUE_HASH,
	VALUE_WHY,
	VALUE_PAYLOAD,
	VALUE_WR_THREAD, /* this and all below: found by matching; NULL if unknown */
	VALUE_WR_N,
	VALUE_WR_I,
	VALUE_POSTED,
};

struct table_column {
	const char *name;
	enum value value;
	enum column_id column; /* VALUE_COLUMN, VALUE_PART */
	const char *names;     /* VALUE_NAME: the enum */
};

enum { TABLE_COLUMNS = 40 };

struct data_table {
	const char *name;
	const char *key; /* "thread, n, i" */
	/* FAMILY_BIT() of the families that an iteration needs */
	unsigned int families;
	struct table_column columns[TABLE_COLUMNS]; /* the last one has no name */
};

enum table_id {
	TABLE_post,
	TABLE_wr,
	TABLE_sge,
	TABLE_poll,
	TABLE_wc,
	TABLE_notify,
	TABLE_payload,
	TABLES,
	TABLES_OF_EVENTS = TABLE_payload
};

extern const struct data_table tables[TABLES];

/*
 * "NAME(thread INTEGER, ...)" for CREATE TABLE: of a virtual table, or of a plain one, where the
 * names of enumerators are generated from their numbers. In a query with OR, SQLite needs the key
 * to recognise a row that it has returned already.
 */
void table_declare(const struct data_table *table, bool plain, struct text *sql);

/* The declared type of the column, such as "INTEGER". */
const char *table_column_type(const struct table_column *column);
