/*
 * verbatim doctor: reports what prevents RDMA or tracing on this machine, one line each
 *
 * A check is a row of a table below and a function; each reports what it found, and what to do if
 * something is wrong. Nothing is changed and no program is run.
 */
#include "cli/doctor/doctor.h"

#include <stdio.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "core/base/printable.h"
#include "core/base/style.h"

/* clang-format off */
const struct doctor_check doctor_machine_checks[] = {
	{ "device", doctor_check_devices },
	{ "node", doctor_check_nodes },
	{ "module", doctor_check_modules },
	{ "memlock", doctor_check_memlock },
	{ "port", doctor_check_ports },
	{ "library", doctor_check_library },
	{ "kernel", doctor_check_kernel },
	{ "fork", doctor_check_fork },
	{ "ptrace", doctor_check_ptrace },
	{ "shm", doctor_check_shm },
	{ "session", doctor_check_session },
	{ "memory", doctor_check_memory },
	{ "fabric", doctor_check_fabric },
	{ "wire", doctor_check_wire },
	{ "guest", doctor_check_guest },
	{ "preload", doctor_check_preload },
	{ "lttng", doctor_check_lttng },
	{ "clock", doctor_check_clock },
	{ 0 },
};

const struct doctor_check doctor_program_checks[] = {
	{ "program", doctor_find_program },
	{ "format", doctor_check_format },
	{ "secure", doctor_check_secure },
	{ "verbs", doctor_check_linked },
	{ "direct", doctor_check_direct },
	{ 0 },
};
/* clang-format on */

static const char *const verdicts[DOCTOR_VERDICTS] = { "ok", "note", "problem" };

struct settings {
	unsigned int json;
};

const struct option_row cli_doctor_options[] = {
	CLI_FORMAT(struct settings),
	{ 0 },
};

void doctor_run(struct doctor *doctor, const struct doctor_check *checks)
{
	for (; checks->name; checks++) {
		doctor->check = checks->name;
		checks->look(doctor);
	}
}

static const enum style styles[DOCTOR_VERDICTS] = { STYLE_GOOD, STYLE_WARNING, STYLE_ERROR };

static void print_text(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->nfindings; i++) {
		const struct finding *f = &doctor->findings[i];

		style_put(stdout, styles[f->verdict]);
		printf("%-8s", verdicts[f->verdict]);
		style_put(stdout, STYLE_PLAIN);
		printf(" %-8s ", f->check);
		print_untrusted(stdout, f->text); /* untrusted: has names of files and devices */
		printf("%s%s\n", f->remedy ? "; " : "", f->remedy ? f->remedy : "");
	}
}

static void print_json(const struct doctor *doctor)
{
	static const struct column columns[] = {
		{ "verdict", COLUMN_TEXT },
		{ "check", COLUMN_TEXT },
		{ "finding", COLUMN_TEXT },
		{ "remedy", COLUMN_TEXT },
		{ 0 },
	};
	struct table *table = table_new("findings", columns);

	for (size_t i = 0; i < doctor->nfindings; i++) {
		const struct finding *f = &doctor->findings[i];

		table_text(table, verdicts[f->verdict]);
		table_text(table, f->check);
		table_text(table, f->text);
		table_text(table, f->remedy);
	}
	printf("{\n");
	table_print_json(table);
	printf("\n}\n");
	table_free(table);
}

int cli_doctor(int argc, char **argv)
{
	struct doctor doctor = { .root = "" };
	struct settings set = { 0 };
	struct arguments arguments;
	bool stopped;

	cli_parse(argc, argv, &set, &arguments);
	doctor.program = arguments.at[0];
	doctor_run(&doctor, doctor_machine_checks);
	if (doctor.program)
		doctor_run(&doctor, doctor_program_checks);
	if (set.json)
		print_json(&doctor);
	else
		print_text(&doctor);
	stopped = doctor_count(&doctor, DOCTOR_PROBLEM);
	doctor_fini(&doctor);
	return stopped ? CLI_FINDINGS : CLI_FINE;
}
