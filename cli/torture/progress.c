/*
 * The results so far: one object of JSON in each line, as in the report
 *
 * A result is that of a failure with the same number and rule; a program that has changed has
 * others, which are tried again. The last line may be cut.
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
		log_note("%zu results in %s do not match the failures of this list and are ignored",
			 other, path);
	free(text);
	return 0;
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
	if (!err) {
		progress->file = fopen(progress->path, "we");
		err = progress->file ? 0 : log_err(-errno, "create %s", progress->path);
	}
	for (size_t i = 0; i < results->n && !err; i++)
		if (results->all[i].done)
			err = progress_add(progress, &results->all[i]);
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
