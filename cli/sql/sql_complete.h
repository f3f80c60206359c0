#pragma once
/*
 * Completion of the words of a query at the prompt. Not thread-safe.
 */
struct sqlite3;

/*
 * Complete names of tables, columns and functions of @db, SQL keywords, and commands that begin
 * with a dot, in lines read by readline(). The names are read when the first word is completed.
 */
void sql_complete(struct sqlite3 *db);

/* Complete nothing any more, and free the names. */
void sql_complete_end(void);
