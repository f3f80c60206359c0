/*
 * Writing a merged trace
 *
 *	merge_rows.c      tables of the control plane, with the numbers changed
 *	merge_device.c    devices: those of two machines may have the same name
 *	merge_data.c      posts and polls, and their bytes
 *	merge_meta.c      table `meta`
 *
 * Not here: the clocks (in joint.c; set by the caller that joined the traces).
 */
#include "core/store/merge/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/db/call_pack.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/file.h"
#include "core/store/db/schema.h"
#include "core/store/finish/derive.h"
#include "core/store/merge/merge_priv.h"
#include "core/store/read/joint.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

/* Copy table by table, and of each table part by part, so that each table is appended to only. */
static int copy_parts(struct merge *merge)
{
	int err = 0;

	for (size_t i = 0; i < merge->n && !err; i++)
		err = merge_copy_devices(merge, &merge->parts[i])
			      ?: merge_copy_counters(merge, &merge->parts[i]);
	if (!err)
		err = merge_copy_rows(merge);
	for (size_t i = 0; i < merge->n && !err; i++)
		err = merge_copy_data(merge, &merge->parts[i]);
	return err;
}

static int fill_merged(struct merge *merge)
{
	int err = schema_create_part(merge->to);

	if (!err)
		err = call_pack_begin(merge->to) ?: row_tables_begin(merge->to);
	if (!err)
		err = copy_parts(merge);
	if (!err)
		err = merge_describe(merge);
	if (!err) /* the two queue pairs of a connection may be in two traces */
		err = derive_tables(merge->to);
	if (!err)
		err = call_pack_end(merge->to) ?: row_tables_end(merge->to, ROW_TABLE_LEAST);
	if (!err)
		err = schema_complete(merge->to);
	return err ?: sql_exec(merge->to, "COMMIT");
}

static int init_parts(struct merge *merge)
{
	uint32_t modules = 0, devices = 0, n;
	int err = 0;

	merge->parts = calloc(merge->n, sizeof(*merge->parts));
	if (!merge->parts)
		return log_err(-ENOMEM, "merge traces");
	for (size_t i = 0; i < merge->n && !err; i++) {
		struct merge_part *part = &merge->parts[i];

		part->joint = &merge->joint->joint->parts[i];
		part->db = part->joint->trace->db;
		part->modules = modules;
		part->devices = devices;
		if (part->joint->trace->nmerged)
			return log_why(-EINVAL,
				       "%s is itself a merged trace: merge its source "
				       "traces instead",
				       part->joint->path);
		err = sql_max_id(part->db, "module", &n);
		modules += n;
		if (!err)
			err = sql_max_id(part->db, "device", &part->ndevices);
		devices += part->ndevices;
		part->device = calloc(part->ndevices + 1ul, sizeof(*part->device));
		if (!err && !part->device)
			err = log_err(-ENOMEM, "merge traces");
	}
	return err;
}

static void fini_merge(struct merge *merge)
{
	sqlite3_close(merge->to);
	for (size_t i = 0; merge->parts && i < merge->n; i++)
		free(merge->parts[i].device);
	free(merge->parts);
}

int merge_write(struct trace *joint, const char *to)
{
	struct merge merge = { .joint = joint, .n = trace_nparts(joint) };
	char beside[FILE_BESIDE];
	int err;

	merge.beside = beside;
	err = file_check_replace(to) ?: init_parts(&merge) ?: file_make_beside(to, beside);
	if (err) {
		fini_merge(&merge);
		return err;
	}
	err = sql_open(beside, SQLITE_OPEN_READWRITE, &merge.to) ?: fill_merged(&merge);
	fini_merge(&merge);
	if (!err)
		err = file_replace(beside, to, true);
	if (err)
		file_remove(beside);
	return err;
}
