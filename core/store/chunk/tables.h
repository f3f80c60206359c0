#pragma once
/*
 * The data plane as tables: the one list of their columns. The virtual tables
 * (vtab.c) and those of an unpacked trace (unpack.c) are made from it.
 */
#include "core/store/chunk/columns.h"
#include "core/base/text.h"

/* Where a value comes from. */
enum value {
	VALUE_THREAD,
	VALUE_N,
	VALUE_I, /* which work request, which completion of the event */
	VALUE_J, /* which element */
	VALUE_TIME,
	VALUE_PROCESS,
	VALUE_INNER,
	VALUE_COLUMN, /* a column of the chunk as it is */
	VALUE_PART,   /* the same; NULL where the request has no such part */
	VALUE_EXTRA,  /* the same; NULL where the completion has none */
	VALUE_OBJECT, /* QP or SRQ of a post, by its id */
	VALUE_QP,     /* the same if it is a QP, else NULL */
	VALUE_SRQ,
	VALUE_CQ,
	VALUE_WC_QP,
	VALUE_VERB,
	VALUE_STACK,     /* of a post; NULL not known */
	VALUE_NOT_TAKEN, /* 1: the post failed before it came to this request */
	VALUE_OPCODE,    /* of a request; NULL for a receive */
	VALUE_SEND_FLAGS,
	VALUE_NUM_SGE,
	VALUE_BYTES, /* sum of the elements' lengths */
	VALUE_NAME,  /* the enumerator of the column before */
	VALUE_KIND,  /* of a payload, with the rest */
	VALUE_LENGTH,
	VALUE_CAPTURED,
	VALUE_BEFORE,
	VALUE_HASH,
	VALUE_WHY,
	VALUE_PAYLOAD,
	VALUE_WR_THREAD, /* found by the matcher, with the rest; NULL unknown */
	VALUE_WR_N,
	VALUE_WR_I,
	VALUE_POSTED,
};

struct table_column {
	const char *name;
	enum value value;
	enum column_id column; /* VALUE_COLUMN, VALUE_PART */
	const char *names;     /* VALUE_NAME: of which enum */
};

enum { TABLE_COLUMNS = 40 };

struct table {
	const char *name;
	const char *key;                            /* "thread, n, i" */
	unsigned int families;                      /* that a walk of it needs: FAMILY_BIT() */
	struct table_column columns[TABLE_COLUMNS]; /* up to one without a name */
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

extern const struct table tables[TABLES];

/*
 * "NAME(thread INTEGER, ...)" for CREATE TABLE: of a virtual table, or of a
 * plain one, whose names of enumerators follow their numbers when these change.
 * By its key SQLite tells rows that it has met before, in a query with OR.
 */
void table_declare(const struct table *table, bool plain, struct text *sql);
