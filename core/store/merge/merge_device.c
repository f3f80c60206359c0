/*
 * The devices of a merged trace
 *
 * A device in two traces of one machine is one device. If a device of another machine has the same
 * name, as nearly all do, it becomes "mlx5_0@host". If two traces have counters of one device, rows
 * of both are copied, with the number of the trace.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/store/merge/merge_priv.h"
#include "core/wire/log.h"

/* Were both parts recorded on the same machine, without a reboot in between? */
static bool is_same_machine(const struct merge_part *part, const struct merge_part *other)
{
	const char *a = trace_meta(part->joint->trace, "recorder_boot");
	const char *b = trace_meta(other->joint->trace, "recorder_boot");

	return a && b && *a && !strcmp(a, b);
}

/* The number of the device in an earlier part of the same machine; 0: none. */
static uint32_t find_known(struct merge *merge, const struct merge_part *part, const char *name)
{
	uint32_t found = 0;
	sqlite3_stmt *stmt;

	for (const struct merge_part *p = merge->parts; p < part && !found; p++) {
		if (!is_same_machine(p, part) ||
		    sql_prepare(p->db, "SELECT id FROM device WHERE name = ?", &stmt))
			continue;
		sql_bind(stmt, "t", name);
		if (sql_step(stmt) > 0 && sql_u32(stmt, 0) <= p->ndevices)
			found = p->device[sql_u32(stmt, 0)];
		sqlite3_finalize(stmt);
	}
	return found;
}

static bool is_taken(struct merge *merge, const char *name)
{
	sqlite3_stmt *stmt;
	bool taken = false;

	if (sql_prepare(merge->to, "SELECT 1 FROM device WHERE name = ?", &stmt))
		return false;
	sql_bind(stmt, "t", name);
	taken = sql_step(stmt) > 0;
	sqlite3_finalize(stmt);
	return taken;
}

static void choose_name(struct merge *merge, const struct merge_part *part, const char *own,
			char *name, size_t size)
{
	const char *host = trace_meta(part->joint->trace, "host");
	size_t i = (size_t)(part - merge->parts) + 1;

	snprintf(name, size, "%s", own);
	if (is_taken(merge, name))
		snprintf(name, size, "%s@%s", own, host ?: "");
	if (is_taken(merge, name))
		snprintf(name, size, "%s@%s#%zu", own, host ?: "", i);
}

static int add_device(struct merge *merge, struct merge_part *part, sqlite3_stmt *from,
		      sqlite3_stmt *to)
{
	const char *own = (const char *)sqlite3_column_text(from, 1) ?: "";
	uint32_t id = sql_u32(from, 0);
	char name[256];

	if (!id || id > part->ndevices)
		return log_why(-EINVAL, "%s is damaged: table device", part->joint->path);
	part->device[id] = find_known(merge, part, own);
	if (part->device[id])
		return 0;
	part->device[id] = part->devices + id;
	choose_name(merge, part, own, name, sizeof(name));
	for (int i = 2; i < sqlite3_column_count(from); i++)
		sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
	return sql_run(to, "ut", part->device[id], name);
}

/* Copy the counter values of @table, with a time in column @time; -1: the table has no times. */
static int copy_counters(struct merge *merge, struct merge_part *part, const char *table, int time)
{
	const unsigned int number = (unsigned int)(part - merge->parts) + 1;
	sqlite3_stmt *from = NULL, *to = NULL;
	char sql[96];
	int err;

	/* an older format lacks the table: schema_check() */
	if (!sql_has_table(part->db, table))
		return 0;
	snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE merged = 0", table);
	err = sql_prepare(part->db, sql, &from);
	snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?, ?, ?, ?, ?, ?, ?)", table);
	if (!err)
		err = sql_prepare(merge->to, sql, &to);
	while (!err && (err = sql_step(from)) > 0) {
		for (int i = 1; i < sqlite3_column_count(from); i++)
			sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
		if (time >= 0)
			sqlite3_bind_int64(to, time + 1,
					   merge_time(part, sqlite3_column_int64(from, time)));
		err = sql_run(to, "u", number);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}

int merge_copy_counters(struct merge *merge, struct merge_part *part)
{
	enum { TIME = 5 };

	return copy_counters(merge, part, "counter", -1)
		       ?: copy_counters(merge, part, "counter_sample", TIME);
}

int merge_copy_devices(struct merge *merge, struct merge_part *part)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	int err = sql_prepare(part->db, "SELECT * FROM device ORDER BY id", &from);

	if (!err)
		err = sql_prepare(merge->to,
				  "INSERT INTO device VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				  &to);
	while (!err && (err = sql_step(from)) > 0)
		err = add_device(merge, part, from, to);
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}
