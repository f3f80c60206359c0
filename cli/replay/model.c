/*
 * verbatim model: the traffic of a trace as a text
 *
 * The traffic is learned as for a replay as load, but written instead of sent.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/model/model_text.h"
#include "cli/output.h"
#include "cli/part/slice_file.h"
#include "cli/replay/replay_memory.h"
#include "cli/replay/replay_traffic.h"
#include "core/wire/budget.h"

struct settings {
	const char *path;
	uint64_t memory;
	struct slice slice;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_model_options[] = {
	{ "output", 'o', "FILE", "the text to write", TEXT_AT(struct settings, path),
	  .otherwise = OPTIONS_STDOUT },
	SLICE_OPTIONS(struct settings),
	{ "max-memory", 0, "SIZE", "maximum memory for the times of all requests, 8 bytes each",
	  SIZE_AT(struct settings, memory),
	  .otherwise = "a quarter of the available memory" },
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

static int write_model(const struct load *load, const char *title, const char *path)
{
	struct text text = { 0 };
	int err = model_write(load, title, &text);

	if (!err)
		err = output_put(path, &text);
	text_fini(&text);
	return err ? (int)cli_status(err) : CLI_FINE;
}

int cli_model(int argc, char **argv)
{
	struct settings set = { .memory = REPLAY_MEMORY_DEFAULT };
	struct arguments arguments;
	struct load load;
	const char *base;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	cli_show_work("model");
	if (arguments.n != 1)
		return arguments.n ? cli_refuse_argument("model", arguments.at[1])
				   : cli_misuse("model", "no trace given");
	status = output_check("model", set.path) ?: slice_check("model", &set.slice, 1);
	if (status)
		return status;
	if (set.memory == REPLAY_MEMORY_DEFAULT)
		set.memory = replay_memory_default(
			replay_memory_available(NULL, budget_cgroup_limit(NULL, NULL)));
	status = traffic_open("model", arguments.at[0], &set.slice, set.memory, &load);
	if (status)
		return status;
	base = strrchr(arguments.at[0], '/');
	status = write_model(&load, base ? base + 1 : arguments.at[0], set.path);
	load_fini(&load);
	return status;
}
