#pragma once
/*
 * Options that `verbatim check` and `verbatim record --check` share: which rules are checked, and
 * which findings are known. Not thread-safe.
 */
#include "analyzer/check.h"
#include "analyzer/report/known.h"
#include "cli/options.h"

/* In the order of --fail-on. */
enum check_fail { FAIL_DEFAULT, FAIL_ERROR, FAIL_WARNING, FAIL_HAZARD };

enum check_preset { PRESET_NONE, PRESET_ERRORS, PRESET_ALL, PRESET_PERFORMANCE };

struct check_settings {
	struct check_options check;
	unsigned int preset;  /* enum check_preset */
	unsigned int fail_on; /* enum check_fail */
	const char *suppress, *baseline, *write_baseline;
};

option_parse check_parse_mute;

/* clang-format off */
/* The option rows of struct check_settings; @field is the struct check_settings in @settings. */
#define CHECK_ROWS(settings, field)                                                         \
	{ "mute", 'm', "RULE[,RULE...]", "ignore these rules and facts; may be repeated",   \
	  PARSED_AT(settings, field.check, check_parse_mute) },                             \
	{ "preset", 0, "errors|all|performance",                                            \
	  "check rules of one kind only, or report all in full",                            \
	  CHOICE_AT(settings, field.preset), .least = PRESET_ERRORS,                        \
	  .otherwise = "all, with performance and information in brief" },                  \
	{ "fail-on", 0, "error|warning|hazard",                                             \
	  "the lowest severity that makes the exit status 1",                                \
	  CHOICE_AT(settings, field.fail_on), .least = FAIL_ERROR, .preset = "warning" },   \
	{ "suppress", 0, "FILE", "ignore findings that match a line of this file",          \
	  TEXT_AT(settings, field.suppress) },                                              \
	{ "baseline", 0, "FILE", "ignore the findings in this baseline",                    \
	  TEXT_AT(settings, field.baseline) },                                              \
	{ "write-baseline", 0, "FILE", "write a baseline of the findings",                  \
	  TEXT_AT(settings, field.write_baseline) }
/* clang-format on */

/*
 * Complete the settings: mute rules that the preset leaves out, read the files. Returns 0 and the
 * known findings, for suppressions_close(); or the exit status after a line to stderr.
 */
int check_settings_open(const char *command, struct check_settings *settings,
			struct suppressions **ret_known);
