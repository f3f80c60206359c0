/*
 * The options that every subcommand has
 */
#include "cli/common.h"

#include "core/wire/log.h"

struct common common;

/* clang-format off */
const struct option_row common_options[] = {
	{ "color", 0, "auto|always|never",
	  "use colours; auto: on a terminal, unless NO_COLOR is set, or with CLICOLOR_FORCE",
	  CHOICE_AT(struct common, colour), .preset = "auto" },
	{ "no-pager", 0, NULL, "do not use a pager", FLAG_AT(struct common, no_pager) },
	{ "quiet", 'q', NULL, "print only results, failures and loss",
	  VALUE_AT(struct common, verbosity, LOG_QUIET) },
	{ "verbose", 'v', NULL, "also report each step and how long it takes",
	  VALUE_AT(struct common, verbosity, LOG_VERBOSE) },
	{ 0 },
};
/* clang-format on */
