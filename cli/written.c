/*
 * The line of JSON about a written file
 */
#include "cli/written.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/base/json.h"
#include "core/wire/log.h"

/* null for a pipe or a device; a folder has no size of its own. */
static void put_bytes(struct json *json, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode))
		json_put_uint(json, "bytes", (uint64_t)st.st_size);
	else
		json_put_text(json, "bytes", NULL);
}

static void put_count(struct json *json, const struct written_count *count)
{
	if (count->is_flag)
		json_put_bool(json, count->name, count->n != 0);
	else
		json_put_uint(json, count->name, count->n);
}

int written_put(const char *command, const char *path, const struct written_count *counts)
{
	struct text line = { 0 };
	struct json json = { .out = &line };
	int err = 0;

	if (!path)
		return 0;
	json_open(&json, NULL, '{');
	json_put_text(&json, "command", command);
	json_put_text(&json, "file", path);
	put_bytes(&json, path);
	for (; counts && counts->name; counts++)
		put_count(&json, counts);
	json_close(&json, '}');
	if (line.failed)
		err = log_err(-ENOMEM, "--json");
	else if (puts(line.at) < 0 || fflush(stdout))
		err = log_err(-errno, "write to standard output");
	text_fini(&line);
	return err;
}
