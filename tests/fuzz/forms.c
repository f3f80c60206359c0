/*
 * Altered inputs, and the commands that read them
 */
#include "tests/fuzz/forms.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct kind kinds[] = {
	{ "rows", "trace", "trace", mutate_rows },
	{ "columns", "plain", "trace", mutate_columns },
	{ "schema", "trace", "trace", mutate_schema },
	{ "chunk", "trace", "trace", mutate_chunk },
	{ "bytes", "trace", "trace", mutate_bytes },
	{ "journal", "trace", "trace", mutate_journal },
	{ "page", "session", "session", mutate_page },
	{ "ring", "session", "session", mutate_ring },
	{ "session", "session", "session", mutate_session },
	{ "ctf", "ctf", "ctf", mutate_ctf },
	{ "bundle", "bundle", "bundle", mutate_bundle },
	{ "faults", "faults", "faults", mutate_text },
	{ "persona", "persona", "persona", mutate_text },
	{ "filter", "filter", "filter", mutate_text },
	{ "elf", "elf", "elf", mutate_file },
	{ "live", "live", "live", NULL },
	{ 0 },
};

const struct form forms[] = {
	{ "trace", "info t.db", "013", NULL, NULL, NULL },
	{ "trace", "info --format json t.db", "013", NULL, NULL, NULL },
	{ "trace", "dump t.db", "013", NULL, NULL, NULL },
	{ "trace", "dump --payload full t.db", "013", NULL, NULL, NULL },
	{ "trace", "dump --failed t.db", "013", NULL, NULL, NULL },
	{ "trace", "dump --format json t.db", "013", NULL, NULL, NULL },
	{ "trace", "dump t.db u.db", "013", NULL, NULL, NULL },
	{ "trace", "stat t.db", "013", NULL, NULL, NULL },
	{ "trace", "stat --format json t.db", "013", NULL, NULL, NULL },
	{ "trace", "stat --format openmetrics t.db", "013", NULL, NULL, NULL },
	{ "trace", "sql t.db SELECT*FROM\tobject,call", "0123", NULL, NULL, NULL },
	{ "trace", "sql --json t.db SELECT*FROM\twr", "0123", NULL, NULL, NULL },
	{ "trace", "sql --csv t.db SELECT*FROM\twc", "0123", NULL, NULL, NULL },
	{ "trace", "sql t.db SELECT*FROM\tpayload", "0123", NULL, NULL, NULL },
	{ "trace", "sql t.db SELECT*FROM\tmeta,process,thread,module", "0123", NULL, NULL, NULL },
	{ "trace", "sql t.db SELECT*,stack(stack)FROM\trequests,qps", "0123", NULL, NULL, NULL },
	{ "trace", "sql t.db SELECT*,name(object)FROM\tqueue_depth", "0123", NULL, NULL, NULL },
	{ "trace", "sql t.db SELECT*,symbol(length)FROM\tmrs,failures", "0123", NULL, NULL, NULL },
	{ "trace", "sql --format jsonl t.db SELECT*FROM\tqps", "0123", NULL, NULL, NULL },
	{ "trace", "query t.db state of qp1 in process 1", "0123", NULL, NULL, NULL },
	{ "trace", "query t.db state of mr1 at 1ms", "0123", NULL, NULL, NULL },
	{ "trace", "query t.db outstanding on cq1 in process 1", "0123", NULL, NULL, NULL },
	{ "trace", "query t.db registered", "013", NULL, NULL, NULL },
	{ "trace", "query --format json t.db covers key 0x1000", "013", NULL, NULL, NULL },
	{ "trace", "query t.db peer of qp1 in process 1", "0123", NULL, NULL, NULL },
	{ "trace", "query t.db path of wr_id 1", "0123", NULL, NULL, NULL },
	{ "trace", "query --format json t.db path of 1:40", "0123", NULL, NULL, NULL },
	{ "trace", "diff t.db u.db", "013", NULL, NULL, NULL },
	{ "trace", "diff --format junit t.db u.db -- t.db t.db", "013", NULL, NULL, NULL },
	{ "trace", "diff --format json u.db t.db", "013", NULL, NULL, NULL },
	{ "trace", "diff t.db t.db", "013", NULL, NULL, NULL },
	{ "trace", "unpack -o o.db t.db", "03", "info o.db", "013", NULL },
	{ "trace", "unpack -o o.db t.db", "03", "check o.db", "013", NULL },
	{ "trace", "check t.db", "013", NULL, NULL, "01" },
	{ "trace", "check --format json t.db", "013", NULL, NULL, NULL },
	{ "trace", "check t.db u.db", "013", NULL, NULL, NULL },
	{ "trace", "check --format json u.db t.db", "013", NULL, NULL, NULL },
	{ "trace", "check --format sarif t.db", "013", NULL, NULL, NULL },
	{ "trace", "check --format junit --save t.db", "0134", NULL, NULL, NULL },
	{ "trace", "replay --timeout 0.2 t.db", "013", NULL, NULL, NULL },
	{ "trace", "replay --timeout 0.2 --format json t.db", "013", NULL, NULL, NULL },
	{ "trace", "replay --processes --timeout 0.2 t.db", "013", NULL, NULL, NULL },
	{ "trace", "versus --devices soft,soft --rounds 1 --deadline 5s t.db", "0134", NULL, NULL,
	  NULL },
	{ "trace", "facts -o o.db t.db", "03", "check o.db", "013", NULL },
	{ "trace", "job --nodes n1 --via false check t.db", "0134", NULL, NULL, NULL },
	{ "trace", "top --batch t.db", "34", NULL, NULL, NULL },
	{ "trace", "snapshot t.db", "34", NULL, NULL, NULL },
	{ "trace", "trim -o o.db --to 1:20 t.db", "023", "check o.db", "013", NULL },
	{ "trace", "trim -o o.db --from 1:20 t.db", "023", "info o.db", "013", NULL },
	{ "trace", "trim -o o.db --only process=1 t.db", "023", "dump o.db", "013", NULL },
	{ "trace", "merge -o o.db t.db u.db", "03", "check o.db", "013", NULL },
	{ "trace", "merge -o o.db u.db t.db", "03", "stat o.db", "013", NULL },
	{ "trace", "reduce -j 1 --deadline 5s --keep LIFE-004\tof\tcontext1 -o o.db t.db", "0123",
	  NULL, NULL, NULL },
	{ "trace",
	  "reduce -j 1 --deadline 1s --keep status\tof\t1:40\t=\tREM_ACCESS_ERR -o o.db t.db",
	  "0123", NULL, NULL, NULL },
	{ "trace", "export t.db", "03", NULL, NULL, NULL },
	{ "trace", "export --at 1:40 t.db", "023", NULL, NULL, NULL },
	{ "trace", "export --format folded --value time t.db", "03", NULL, NULL, NULL },
	{ "trace", "export --format pcapng -o o.pcapng t.db", "03", NULL, NULL, NULL },
	{ "trace", "export --format perfetto -o o.trace t.db", "03", NULL, NULL, NULL },
	{ "trace", "report t.db", "03", NULL, NULL, NULL },
	{ "trace", "report --compare u.db t.db", "03", NULL, NULL, NULL },
	{ "trace", "bundle -o o.bundle t.db", "03", "unbundle -l o.bundle", "0", NULL },
	{ "trace", "bundle --list --anonymise t.db", "03", NULL, NULL, NULL },
	{ "trace", "bundle --anonymise -o o.bundle t.db", "03", "unbundle -l o.bundle", "0", NULL },
	{ "trace", "emit t.db", "03", NULL, NULL, NULL },
	{ "trace", "model t.db", "03", NULL, NULL, NULL },
	{ "trace", "emit --allow-partial t.db u.db", "03", NULL, NULL, NULL },
	{ "session", "collect -q --keep -o o.db .", "034", "info o.db", "01", "0" },
	{ "session", "collect -q --keep -o o.db .", "034", "check o.db", "01", NULL },
	{ "ctf", "import -q -o o.db .", "03", "info o.db", "013", "0" },
	{ "faults", "VERBATIM_SOFT_FAULTS=text run --device soft @guest calls 3",
	  "0123456789", NULL, NULL, "0123456789" },
	{ "persona", "VERBATIM_SOFT_PERSONA=text run --device soft @guest calls 3",
	  "0123456789", NULL, NULL, "0123456789" },
	{ "filter", "record -q -o o.db --filter @text @guest calls 3", "02", "info o.db", "01",
	  "0" },
	{ "elf", "doctor ./text", "0134", NULL, NULL, "01" },
	{ "live", "record -q --strict --memory --on-full drop -o o.db @guest calls 500",
	  "0123456789", "info o.db", "01", NULL },
	{ "live", "record -q --on-full drop -o o.db @guest calls 500", "0123456789", "info o.db",
	  "01", NULL },
	{ "bundle", "unbundle --directory o t.bundle", "034", NULL, NULL, "0" },
	{ "bundle", "unbundle -l t.bundle", "03", NULL, NULL, "0" },
	{ 0 },
};
/* clang-format on */

void form_command(const struct form *form, char name[FORM_COMMAND])
{
	const char *at = form->line;
	size_t word = strcspn(at, " ");

	if (memchr(at, '=', word))
		at += word + 1;
	/* separate machinery */
	snprintf(name, FORM_COMMAND, "%.*s%s", (int)strcspn(at, " "), at,
		 strstr(at, " --processes") ? " -p" : "");
}

bool form_is_like(const struct form *form, const struct form *other)
{
	char name[FORM_COMMAND], its[FORM_COMMAND];

	form_command(form, name);
	form_command(other, its);
	return !strcmp(form->reads, other->reads) && !strcmp(name, its);
}
