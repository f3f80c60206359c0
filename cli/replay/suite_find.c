/*
 * The traces of a folder
 *
 * Links are followed; a folder that is reached again from within itself is not.
 */
#include "cli/replay/suite_find.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"

static int compare_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_trace(const FTSENT *entry)
{
	static const char ending[] = ".db";
	size_t n = strlen(ending);

	return entry->fts_namelen > n && !strcmp(entry->fts_name + entry->fts_namelen - n, ending);
}

static int add_trace(struct suite_traces *traces, const char *path)
{
	char **paths = reallocarray(traces->paths, traces->n + 1, sizeof(*paths));

	if (paths) {
		traces->paths = paths;
		paths[traces->n] = strdup(path);
	}
	if (!paths || !paths[traces->n])
		return log_err(-ENOMEM, "list the traces of a suite");
	traces->n++;
	return 0;
}

static int visit_entry(FTS *tree, FTSENT *entry, struct suite_traces *traces)
{
	if (entry->fts_level > FTS_ROOTLEVEL && *entry->fts_name == '.') {
		fts_set(tree, entry, FTS_SKIP);
		return 0;
	}
	switch (entry->fts_info) {
	case FTS_D:
	case FTS_DP:
	case FTS_DC:
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return log_err(-entry->fts_errno, "look for traces in %s", entry->fts_path);
	default: /* the replay of a trace that cannot be read reports it */
		if (entry->fts_level == FTS_ROOTLEVEL)
			return log_err(-ENOTDIR, "look for traces in %s (--suite takes a folder)",
				       entry->fts_path);
		return is_trace(entry) ? add_trace(traces, entry->fts_path) : 0;
	}
}

int suite_find(const char *dir, struct suite_traces *ret_traces)
{
	char *const roots[] = { (char *)dir, NULL };
	FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
	FTSENT *entry;
	int err = 0;

	*ret_traces = (struct suite_traces){ .skip = strlen(dir) };
	if (!tree)
		return log_err(-errno, "look for traces in %s", dir);
	while (!err && (entry = fts_read(tree)))
		err = visit_entry(tree, entry, ret_traces);
	fts_close(tree);
	if (err || ret_traces->n)
		return err;
	log_note("replay: %s has no trace (NAME.db, also in subfolders)", dir);
	return -ENOENT;
}

void suite_traces_fini(struct suite_traces *traces)
{
	for (size_t i = 0; i < traces->n; i++)
		free(traces->paths[i]);
	free(traces->paths);
	*traces = (struct suite_traces){ 0 };
}
