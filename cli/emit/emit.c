/*
 * verbatim emit: a C program made from a trace
 *
 * The trace is read, the program made in memory, and the file put in place when it is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/emit/build.h"
#include "cli/emit/write.h"
#include "core/wire/log.h"

struct settings {
	const char *path;
	bool allow_partial;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_emit_options[] = {
	{ "output", 'o', "FILE", "the program to make", TEXT_AT(struct settings, path),
	  .otherwise = "standard output" },
	{ "allow-partial", 0, NULL, "leave out verbs that cannot be a part of a program",
	  FLAG_AT(struct settings, allow_partial) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

/* A file of its own that takes the place of @path when it is whole. */
static int put_file(const char *path, const struct text *text)
{
	char *other = NULL;
	mode_t mask = umask(0);
	FILE *file = NULL;
	int fd, err = 0;

	umask(mask);
	if (asprintf(&other, "%s.XXXXXX", path) < 0)
		return log_err(-ENOMEM, "write %s", path);
	fd = mkstemp(other);
	if (fd >= 0)
		file = fdopen(fd, "w");
	if (!file) {
		err = log_err(-errno, "write %s", path);
		if (fd >= 0)
			close(fd);
	} else if (fwrite(text->at, 1, text->used, file) != text->used || fflush(file) ||
		   fchmod(fd, 0666 & ~mask)) {
		err = log_err(-errno, "write %s", path);
	}
	if (file && fclose(file) && !err)
		err = log_err(-errno, "write %s", path);
	if (!err && rename(other, path))
		err = log_err(-errno, "write %s", path);
	if (err && fd >= 0)
		unlink(other);
	free(other);
	return err;
}

/* As it is: stdout would show its tabs as what a trace has put there. */
static int print_text(const struct text *text)
{
	for (size_t at = 0; at < text->used;) {
		ssize_t n = write(STDOUT_FILENO, text->at + at, text->used - at);

		if (n < 0 && errno != EINTR)
			return log_err(-errno, "write the program");
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
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
	if (!err && program->again) {
		build_fini(&maker);
		maker = (struct maker){ 0 };
		program_restart(program);
		err = build_program(&maker, program);
	}
	if (!err)
		err = write_program(&maker, &text);
	if (!err)
		err = set->path ? put_file(set->path, &text) : print_text(&text);
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
	struct arguments arguments;
	struct trace *trace;
	int status, err;

	cli_parse(argc, argv, &set, &arguments);
	if (!arguments.n)
		return cli_misuse("emit", "no trace is given");
	for (int i = 0; set.path && i < arguments.n; i++)
		if (cli_is_same_file(arguments.at[i], set.path))
			return cli_misuse("emit", "'%s' cannot become its own program", set.path);
	cli_deadline(set.deadline);
	status = cli_open_all("emit", &arguments, &trace);
	if (status)
		return status;
	err = make_program(trace, arguments.at[0], &set);
	trace_close(trace);
	return err == -ENOTSUP ? CLI_TRACE : cli_status(err);
}
