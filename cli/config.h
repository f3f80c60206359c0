#pragma once
/*
 * The user's defaults for options, from a file; verbatim(1) describes it.
 *
 * 	color = never          of every command that has the option
 * 	[check]
 * 	fail-on = hazard       of one command
 *
 * Not thread-safe.
 */
#include "cli/options.h"

struct command;
struct config;

enum { CONFIG_COMPLAINT = 512 };

/*
 * Read the defaults for @command from VERBATIM_CONFIG, or from verbatim/config in XDG_CONFIG_HOME
 * or ~/.config. Returns 0, with *@ret_config NULL if there is no such file; -EINVAL or another
 * -errno with @complaint set, which names the file and the line. All names in the file are checked,
 * but only the values that options_read() stores.
 */
int config_open(const struct command *command, char complaint[CONFIG_COMPLAINT],
		struct config **ret_config);

/* Accepts NULL. Values of options that were read remain valid until then. */
void config_close(struct config *config);

/* The lines of @config for options_read(); NULL for NULL. */
const struct option_default *config_defaults(const struct config *config);

/* The path, for messages. */
const char *config_path(const struct config *config);
