/* The devices that the recorder described */
#include "core/store/read/described.h"

#include "core/store/db/sql.h"
#include "core/store/read/trace.h"

static sqlite3_stmt *find_statement(struct trace *trace, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL);
	return stmt;
}

static const char *text_of(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

bool described_visit_opened(struct trace *trace,
			    void (*each)(void *arg, const struct described_device *device),
			    void *arg)
{
	static const char sql[] = "SELECT d.id, d.name, d.fw_ver FROM device d JOIN object v ON"
				  " v.kind = 'device' AND v.name = d.name JOIN object c ON"
				  " c.kind = 'context' AND c.parent = v.id WHERE json_valid(d.attr)"
				  " ORDER BY c.id LIMIT 1";
	sqlite3_stmt *stmt = find_statement(trace, sql);
	bool found = stmt && sqlite3_step(stmt) == SQLITE_ROW;

	if (found)
		each(arg, &(struct described_device){ .id = sqlite3_column_int64(stmt, 0),
						      .name = text_of(stmt, 1),
						      .fw_ver = text_of(stmt, 2) });
	sqlite3_finalize(stmt);
	return found;
}

void described_ports(struct trace *trace, int64_t device, unsigned int most,
		     void (*each)(void *arg, const struct described_port *port), void *arg)
{
	static const char sql[] = "SELECT port, coalesce(pkey_tbl_len, 1) FROM port WHERE"
				  " device = ? AND port BETWEEN 1 AND ? AND json_valid(attr)"
				  " AND gid_tbl_len > 0 AND pkey_tbl_len > 0";
	sqlite3_stmt *stmt = find_statement(trace, sql);

	if (!stmt)
		return;
	sql_bind(stmt, "iu", device, most);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		each(arg, &(struct described_port){ .port = sql_u32(stmt, 0),
						    .npkeys = sqlite3_column_int64(stmt, 1) });
	sqlite3_finalize(stmt);
}

void described_gids(struct trace *trace, int64_t device, unsigned int port, unsigned int most,
		    void (*each)(void *arg, const struct described_gid *gid), void *arg)
{
	static const char sql[] = "SELECT idx, gid, type FROM gid WHERE device = ? AND port = ? AND"
				  " idx >= 0 AND idx < ? AND gid IS NOT NULL AND type IS NOT NULL"
				  " ORDER BY idx";
	sqlite3_stmt *stmt = find_statement(trace, sql);

	if (!stmt)
		return;
	sql_bind(stmt, "iuu", device, port, most);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		each(arg, &(struct described_gid){ .index = sql_u32(stmt, 0),
						   .gid = text_of(stmt, 1),
						   .type = text_of(stmt, 2) });
	sqlite3_finalize(stmt);
}

void described_attribute(struct trace *trace, int64_t device, unsigned int port, const char *path,
			 void (*each)(void *arg, int64_t number, const char *text), void *arg)
{
	sqlite3_stmt *stmt = find_statement(
		trace, port ? "SELECT json_extract(attr, ?1) FROM port WHERE device = ?2 AND"
			      " port = ?3"
			    : "SELECT json_extract(attr, ?1) FROM device WHERE id = ?2");

	if (!stmt)
		return;
	sql_bind(stmt, port ? "tiu" : "ti", path, device, port);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		if (sqlite3_column_type(stmt, 0) == SQLITE_INTEGER)
			each(arg, sqlite3_column_int64(stmt, 0), NULL);
		else if (sqlite3_column_type(stmt, 0) == SQLITE_TEXT)
			each(arg, 0, text_of(stmt, 0));
	}
	sqlite3_finalize(stmt);
}
