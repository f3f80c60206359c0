#pragma once
/*
 * Table `payload`: virtual in a trace as recorded, plain in an unpacked one.
 */
#include "core/store/sql.h"

/* Its columns as CREATE TABLE has them. */
extern const char payload_columns[];

/* Returns 0 or -errno after log_err(). */
int payload_register(sqlite3 *db);
