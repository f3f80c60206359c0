/*
 * The rank of a recorded process in its job
 */
#include "core/store/db/rank.h"

#include <stdio.h>

#include "core/store/db/sql.h"

struct environment {
	sqlite3_stmt *value; /* of a variable */
	uint32_t process;
};

static const char *get_variable(void *arg, const char *name)
{
	const struct environment *environment = arg;

	sqlite3_reset(environment->value);
	sql_bind(environment->value, "ut", environment->process, name);
	return sqlite3_step(environment->value) == SQLITE_ROW
		       ? (const char *)sqlite3_column_text(environment->value, 0)
		       : NULL;
}

void rank_host(sqlite3 *db, uint32_t process, char host[RANK_WORD])
{
	static const char *const sources[] = {
		"SELECT host FROM merged WHERE first_process <= ?"
		" ORDER BY first_process DESC LIMIT 1",
		"SELECT value FROM meta WHERE key = 'host' AND ?",
	};
	sqlite3_stmt *stmt;

	*host = '\0';
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && !*host; i++) {
		if (sqlite3_prepare_v2(db, sources[i], -1, &stmt, NULL))
			continue; /* an older trace: those are never merged */
		sql_bind(stmt, "u", process);
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
			snprintf(host, RANK_WORD, "%s", (const char *)sqlite3_column_text(stmt, 0));
		sqlite3_finalize(stmt);
	}
}

void rank_read(sqlite3 *db, uint32_t process, struct rank *ret_rank)
{
	struct environment environment = { .process = process };

	*ret_rank = (struct rank){ .rank = -1, .size = -1, .local = -1 };
	if (sqlite3_prepare_v2(db, "SELECT value FROM environ WHERE process = ? AND name = ?", -1,
			       &environment.value, NULL))
		return;
	launcher_find_rank(get_variable, &environment, ret_rank);
	sqlite3_finalize(environment.value);
	if (ret_rank->rank >= 0 && !*ret_rank->node)
		rank_host(db, process, ret_rank->node);
}
