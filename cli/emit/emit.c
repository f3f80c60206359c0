/*
 * verbatim emit: a C program made from a trace
 *
 * The trace is read, the program made in memory, and the file put in place when it is complete.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/emit/build.h"
#include "cli/emit/write.h"
#include "cli/open_all.h"
#include "cli/output.h"
#include "cli/part/slice_file.h"
#include "cli/written.h"
#include "core/wire/log.h"

struct settings {
	const char *path;
	bool allow_partial, json;
	struct slice slice;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_emit_options[] = {
	{ "output", 'o', "FILE", "the program to write", TEXT_AT(struct settings, path),
	  .otherwise = OPTIONS_STDOUT },
	{ "allow-partial", 0, NULL, "leave out verbs that a program cannot contain",
	  FLAG_AT(struct settings, allow_partial) },
	WRITTEN_OPTION(struct settings),
	SLICE_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

/* Compilers recognise C by the suffix: add .c, unless the name has a suffix or is a device. */
static const char *complete_name(const char *path, char name[PATH_MAX])
{
	const char *base = strrchr(path, '/');
	struct stat st;

	base = base ? base + 1 : path;
	if (!*base || strchr(base, '.') || (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return path;
	snprintf(name, PATH_MAX, "%s.c", path);
	return name;
}

static int make_program(struct trace *trace, const char *from, const struct settings *set)
{
	struct program *program = calloc(1, sizeof(*program));
	struct maker maker = { 0 };
	struct text text = { 0 };
	int err = program ? program_init(program, trace, from) : log_err(-ENOMEM, "emit");

	if (!err) {
		program->allow_partial = set->allow_partial;
		err = build_program(&maker, program);
	}
	if (!err)
		err = write_program(&maker, &text);
	if (!err)
		/* on stdout tabs would be escaped as text from the trace */
		err = output_put(set->path, &text);
	build_fini(&maker);
	if (program)
		program_fini(program);
	free(program);
	text_fini(&text);
	return err;
}

int cli_emit(int argc, char **argv)
{
	struct settings set = { 0 };
	struct slice_file part = { 0 };
	struct arguments arguments;
	struct trace *trace;
	char name[PATH_MAX];
	const char *asked;
	int status, err;

	cli_parse(argc, argv, &set, &arguments);
	asked = set.path;
	if (asked)
		set.path = complete_name(asked, name);
	if (!arguments.n)
		return cli_misuse("emit", "no trace given");
	for (int i = 0; set.path && i < arguments.n; i++)
		if (cli_is_same_file(arguments.at[i], set.path))
			return cli_misuse("emit", "'%s' is the trace itself: choose another name",
					  set.path);
	status = output_check("emit", set.path) ?: slice_check("emit", &set.slice, arguments.n);
	if (status)
		return status;
	cli_deadline(set.deadline);
	cli_show_work("emit");
	status = cli_open_all("emit", &arguments, &trace);
	if (!status)
		status = slice_file_open("emit", &set.slice, arguments.at[0], &trace, &part);
	if (status)
		return status;
	cli_show_progress("emit", trace);
	err = make_program(trace, arguments.at[0], &set);
	trace_close(trace);
	slice_file_remove(&part);
	if (!err && set.path != asked)
		log_info("emit: the program is %s", set.path);
	if (!err && set.json)
		err = written_put("emit", set.path, NULL);
	return err == -ENOTSUP ? CLI_TRACE : cli_status(err);
}
