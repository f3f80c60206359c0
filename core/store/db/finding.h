#pragma once
/*
 * Rows of table `finding`. Not thread-safe.
 */
#include "core/store/db/ids.h"
#include "core/store/db/sql.h"

struct stored_finding {
	const char *rule, *name, *severity;
	struct event_id event; /* the event that broke the rule */
	int64_t time;
	uint32_t process;
	const char *place;  /* verb and argument */
	const char *object; /* its name */
	const char *message;
	const char *fingerprint; /* equal for the same finding in another recording */
	uint64_t count;          /* findings that the row represents */
};

#define FINDING_INSERT "INSERT INTO finding VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

/* Run @stmt, prepared from FINDING_INSERT. 0 or -errno after log_err(). */
int finding_insert(sqlite3_stmt *stmt, const struct stored_finding *finding);
