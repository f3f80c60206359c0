#pragma once
/*
 * The options that every subcommand has. Not thread-safe.
 */
#include <stdbool.h>

#include "cli/options.h"

struct common {
	unsigned int colour; /* enum screen_colour */
	bool no_pager;
	unsigned int verbosity; /* enum log_level */
};

extern const struct option_row common_options[];

/* Set from the command line and the environment; until then, as if no option was given. */
extern struct common common;
