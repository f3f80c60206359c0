/* Finding threads and files by pid, tid and address in a trace that is being written */
#include "core/store/write/writer_priv.h"

uint32_t writer_find_thread(struct writer *writer, int pid, int tid)
{
	uint32_t thread = 0;
	sqlite3_stmt *stmt;

	if (sql_prepare(writer->db,
			"SELECT t.id FROM thread t JOIN process p ON p.id = t.process"
			" WHERE t.tid = ? AND p.pid = ? ORDER BY t.id DESC LIMIT 1",
			&stmt))
		return 0;
	sql_bind(stmt, "dd", tid, pid);
	if (sql_step(stmt) > 0)
		thread = sql_u32(stmt, 0);
	sqlite3_finalize(stmt);
	return thread;
}

void writer_find_module(struct writer *writer, int pid, uint64_t ip,
			void (*each)(void *arg, const char *path, const char *build_id,
				     uint64_t offset),
			void *arg)
{
	sqlite3_stmt *stmt;

	if (sql_prepare(writer->db,
			"SELECT m.path, m.build_id, ?1 - m.base FROM module m JOIN process p"
			" ON m.process IN (p.id, p.parent) WHERE p.pid = ?2 AND ?1 >= m.start"
			" AND ?1 < m.end ORDER BY p.id DESC, m.serial DESC LIMIT 1",
			&stmt))
		return;
	sql_bind(stmt, "id", (int64_t)ip, pid);
	if (sql_step(stmt) > 0)
		each(arg, (const char *)sqlite3_column_text(stmt, 0),
		     (const char *)sqlite3_column_text(stmt, 1),
		     (uint64_t)sqlite3_column_int64(stmt, 2));
	sqlite3_finalize(stmt);
}
