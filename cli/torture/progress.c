/*
 * The results so far: one object of JSON in each line, as in the report
 *
 * A result is reused for a failure with the same number and rule; if the program has changed, its
 * failures are different ones, which are tried again. The last line may be incomplete.
 */
#include "cli/torture/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/read_file.h"
#include "core/wire/log.h"

enum { PATH = 4096 };

struct progress {
	char path[PATH];
	FILE *file;
};

static int read_results(const char *path, struct results *results)
{
	char *text, *at;
	size_t bytes, other = 0, n;
	int err = read_file(path, &text, &bytes);

	if (err)
		return log_err(err, "go on: open %s", path);
	for (at = text; (n = strcspn(at, "\n")) && at[n]; at += n + 1)
		other += !result_read(results, at, n);
	if (other)
		log_note("%zu results in %s do not match this list of failures and are ignored",
			 other, path);
	free(text);
	return 0;
}

static int write_results(struct progress *progress, const struct results *results)
{
	int err = 0;

	for (size_t i = 0; i < results->n && !err; i++)
		if (results->all[i].done)
			err = progress_add(progress, &results->all[i]);
	return err;
}

/* The new file replaces the old file when it has all results that are reused. */
static int create_file(struct progress *progress, const struct results *results)
{
	char path[PATH + 4];
	int err;

	snprintf(path, sizeof(path), "%s.new", progress->path);
	progress->file = fopen(path, "we");
	if (!progress->file)
		return log_err(-errno, "create %s", path);
	err = write_results(progress, results);
	if (!err && (fsync(fileno(progress->file)) || rename(path, progress->path)))
		err = log_err(-errno, "replace %s", progress->path);
	if (err)
		unlink(path);
	return err;
}

int progress_open(struct results *results, bool resume, struct progress **ret_progress)
{
	struct progress *progress = calloc(1, sizeof(*progress));
	int err = 0;

	if (!progress)
		return log_err(-ENOMEM, "results");
	snprintf(progress->path, PATH, "%s/progress", results->folder);
	if (resume)
		err = read_results(progress->path, results);
	if (!err)
		err = create_file(progress, results);
	if (!err)
		*ret_progress = progress;
	else
		progress_close(progress, false);
	return err;
}

int progress_add(struct progress *progress, const struct result *result)
{
	struct text text = { 0 };
	struct json json = { .out = &text };
	int err = 0;

	result_put(&json, result);
	text_char(&text, '\n');
	if (text.failed)
		err = -ENOMEM;
	else if (fwrite(text.at, 1, text.used, progress->file) != text.used ||
		 fflush(progress->file))
		err = -errno;
	text_fini(&text);
	return err ? log_err(err, "write %s", progress->path) : 0;
}

void progress_close(struct progress *progress, bool over)
{
	if (!progress)
		return;
	if (progress->file)
		fclose(progress->file);
	if (over)
		unlink(progress->path);
	free(progress);
}
