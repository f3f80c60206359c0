/*
 * verbatim unpack: converts a trace to plain tables
 */

#include "cli/cli.h"
#include "cli/written.h"
#include "core/store/unpack.h"

struct settings {
	const char *path;
	bool json;
	int64_t deadline;
};

const struct option_row cli_unpack_options[] = {
	{ "output", 'o', "FILE", "the trace to write", TEXT_AT(struct settings, path) },
	WRITTEN_OPTION(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};

int cli_unpack(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	int err;

	cli_parse(argc, argv, &set, &arguments);
	if (!arguments.n)
		return cli_misuse("unpack", "no trace given");
	if (arguments.n > 1)
		return cli_refuse_argument("unpack", arguments.at[1]);
	if (!set.path)
		return cli_misuse("unpack", "no output given: -o FILE");
	if (cli_is_same_file(arguments.at[0], set.path))
		return cli_misuse("unpack", "'%s' is the input trace: choose another name",
				  set.path);
	cli_deadline(set.deadline);
	cli_show_work("unpack");
	err = cli_find_file(arguments.at[0]);
	if (!err)
		err = trace_unpack(arguments.at[0], set.path);
	if (!err && set.json)
		err = written_put("unpack", set.path, NULL);
	return cli_status(err);
}
