/*
 * The options that `verbatim check` and `verbatim record --check` share
 */
#include "cli/check_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "core/wire/log.h"

static int refuse_rule(const char *id, char complaint[OPTIONS_COMPLAINT])
{
	struct suggestion near = { .word = id };

	for (int i = 0; i < RULE_COUNT; i++) {
		suggest_name(&near, rules[i].id);
		suggest_name(&near, rules[i].name);
	}
	for (int i = 0; i < FACT_COUNT; i++)
		suggest_name(&near, fact_infos[i].name);
	snprintf(complaint, OPTIONS_COMPLAINT,
		 "unknown rule '%s'%s; 'verbatim explain' lists the rules", id,
		 suggest_text(&near));
	return -EINVAL;
}

/* @field: struct check_options; the option may be given again. */
int check_parse_mute(const char *ids, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct check_options *options = field;
	char id[64];
	size_t n;

	for (; *ids; ids += n + (ids[n] == ',')) {
		int rule, fact;

		n = strcspn(ids, ",");
		snprintf(id, sizeof(id), "%.*s", (int)n, ids);
		rule = rule_find(id);
		fact = fact_find(id);
		if (rule < 0 && fact < 0)
			return refuse_rule(id, complaint);
		if (rule >= 0)
			options->mute[rule] = true;
		else
			options->mute_fact[fact] = true;
	}
	return 0;
}

static void apply_preset(struct check_settings *settings)
{
	char only = settings->preset == PRESET_ERRORS        ? 'E'
		    : settings->preset == PRESET_PERFORMANCE ? 'P'
							     : '\0';

	for (int i = 0; only && i < RULE_COUNT; i++)
		settings->check.mute[i] |= rules[i].severity != only;
	settings->check.no_hazards |= only;
}

static void apply_fail_on(struct check_settings *settings)
{
	static const char severities[] = {
		[FAIL_ERROR] = 'E', [FAIL_WARNING] = 'W', [FAIL_HAZARD] = 'H'
	};

	settings->check.fail_on = severities[settings->fail_on];
}

int check_settings_open(const char *command, struct check_settings *settings,
			struct suppressions **ret_known)
{
	char complaint[KNOWN_COMPLAINT];
	int status = output_check(command, settings->write_baseline);
	int err = settings->write_baseline && !status
			  ? suppressions_check_target(settings->write_baseline)
			  : 0;

	if (status)
		return status;
	if (!err && settings->suppress)
		err = cli_find_file(settings->suppress);
	if (!err && settings->baseline)
		err = cli_find_file(settings->baseline);
	if (err)
		return CLI_ENVIRONMENT;
	apply_preset(settings);
	apply_fail_on(settings);
	err = suppressions_open(settings->suppress, settings->baseline, complaint, ret_known);
	if (err == -EINVAL)
		return cli_misuse(command, "%s", complaint);
	if (err)
		log_note("%s", complaint);
	return err ? CLI_ENVIRONMENT : 0;
}
