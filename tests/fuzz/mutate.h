#pragma once
/*
 * Alter an input on purpose.
 *
 * Each takes the directory of a fresh copy of an input of the corpus and changes it as the dice
 * determine; parts that cannot be changed stay the same. Any process.
 *
 *	t.db, t.db-journal, t.db-wal	a trace and what may lie beside it
 *	session, ring.N			a session that nobody collects
 *	metadata, *_N			a CTF trace
 *	text				faults, a profile, a filter, an ELF file
 *	t.bundle			a bundle
 */
#include <stdbool.h>

#include "tests/fuzz/dice.h"

typedef void mutate_fn(const char *dir, struct dice *dice);

mutate_fn mutate_rows, mutate_columns, mutate_schema, mutate_chunk, mutate_bytes, mutate_journal;
mutate_fn mutate_page, mutate_ring, mutate_session;
mutate_fn mutate_ctf, mutate_text, mutate_file, mutate_bundle;

/*
 * One of the alterations of a trace's integer columns: each has a number below columns_count(), the
 * same in all traces of a format, and a description. mutate_columns() makes one at random.
 */
enum { COLUMNS_WHAT = 160 };
uint64_t columns_count(const char *dir);
void columns_alter(const char *dir, uint64_t which, struct dice *dice, char what[COLUMNS_WHAT]);

/* Does this trace have rows to alter? If not, columns_alter() makes one. */
bool columns_has_rows(const char *dir, uint64_t which);

/* "DIR/NAME", in one of a few static buffers. */
const char *mutate_path(const char *dir, const char *name);

/* Read a whole file: *@ret_bytes is to be freed. Returns 0 or -errno. */
int mutate_read(const char *path, uint8_t **ret_bytes, size_t *ret_n);
int mutate_write(const char *path, const void *bytes, size_t n);

/* The file that an altered journal names: it must not change. */
#define MUTATE_VICTIM ".victim"

struct sqlite3;

/* Open the trace for changes of any kind; NULL: it cannot be opened. */
struct sqlite3 *mutate_open(const char *dir);

/* The name of one of the tables; "" if there is none. Static. */
const char *mutate_table(struct sqlite3 *db, struct dice *dice);
/* The name of one of its columns. */
const char *mutate_column(struct sqlite3 *db, struct dice *dice, const char *table);
