#pragma once
/*
 * Reading the data plane of one thread from plain tables (verbatim unpack), as blocks. Not
 * thread-safe.
 */
#include "core/store/chunk/block.h"
#include "core/store/db/sql.h"

struct plain_tables;

int plain_open(sqlite3 *db, uint32_t thread, struct plain_tables **ret_plain);

/* Accepts NULL. */
void plain_close(struct plain_tables *plain);

/*
 * Read the next events into @block, with all columns decoded: 1; 0 at the end; -errno after
 * log_err().
 */
int plain_load(struct plain_tables *plain, struct block *block);
