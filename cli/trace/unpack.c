/*
 * verbatim unpack: a trace in plain tables only
 */
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "core/store/unpack.h"

enum { OUTPUT, DEADLINE };

static const struct option_row rows[] = {
	[OUTPUT] = { "output", 'o', "FILE", "the trace to make" },
	[DEADLINE] = CLI_DEADLINE,
	{ 0 },
};

/* What is in the way of the new trace is replaced: not so the old one. */
static int same_file(const char *from, const char *to)
{
	struct stat a, b;

	return !stat(from, &a) && !stat(to, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cli_unpack(int argc, char **argv)
{
	struct options options;
	const char *to;
	int status;

	options_parse(argc, argv, rows, false, &options);
	to = options.value[OUTPUT];
	if (!options.nargs)
		return cli_misuse("unpack", "no trace is given");
	if (options.nargs > 1)
		return cli_misuse("unpack", "too much is given: '%s'", options.args[1]);
	if (!to)
		return cli_misuse("unpack", "where to is not given: -o FILE");
	if (same_file(options.args[0], to))
		return cli_misuse("unpack", "'%s' cannot become itself", to);
	status = cli_deadline("unpack", options.value[DEADLINE]);
	if (status)
		return status;
	return cli_status(trace_unpack(options.args[0], to));
}
