/* The data of a trace that may be confidential, and the versions that its reader needs to know */
#include "cli/bundle/inventory.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/format.h"
#include "core/base/printable.h"
#include "core/store/anonymise/personal.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

static void print_kind(void *arg, const struct personal *personal)
{
	char shown[PRINTABLE_GROWS * 60 + 1], text[FORMAT_TEXT];
	size_t n = personal->bytes;

	(void)arg;
	printf("  %s: %s", personal->what, format_count(personal->count, text));
	if (personal->example && n) {
		printable_text(shown, sizeof(shown), personal->example, n < 60 ? n : 60);
		printf(" (%s%s)", shown, n < 60 ? "" : "...");
	}
	printf("\n");
}

void inventory_print(struct trace *trace, bool anonymised)
{
	char text[FORMAT_TEXT];
	uint64_t bytes = lookup_payload_bytes(trace);

	printf(anonymised ? "replaced, equal values by equal ones:\n"
			  : "which could identify you (--anonymise replaces it):\n");
	personal_each(trace, print_kind, NULL);
	if (bytes)
		printf("  bytes of messages: %s%s\n", format_bytes(bytes, text),
		       anonymised ? ", now zeros" : "");
	if (anonymised)
		printf("kept: times of day, process numbers, build ids, versions, LIDs, QP "
		       "numbers, keys,\n  immediate data, operands of atomics (see "
		       "verbatim-bundle(1))\n");
}

static void add_build(void *arg, const char *path, const char *build_id)
{
	struct text *to = arg;

	text_printable(to, build_id && *build_id ? build_id : "none");
	text_char(to, ' ');
	text_printable(to, path);
	text_char(to, '\n');
}

int inventory_add_builds(struct trace *trace, struct text *to)
{
	int err = lookup_modules(trace, add_build, to);

	if (!err && !to->used)
		text_addf(to, "none: no stacks were recorded\n");
	return err ? err : to->failed ? log_err(-ENOMEM, "bundle") : 0;
}

static void add_row(struct text *to, const char *name, const char *value)
{
	text_addf(to, "%-22s ", name);
	text_printable(to, value && *value ? value : "-");
	text_char(to, '\n');
}

struct libraries {
	struct text *to;
	char last[4096]; /* path: files may have been replaced while the program ran */
};

static void add_library(void *arg, const char *path, const char *build_id)
{
	static const char *const names[] = { "*/libibverbs.so*", "*/librdmacm.so*", "*-rdmav*.so" };
	struct libraries *libraries = arg;

	(void)build_id;
	if (!strcmp(path, libraries->last))
		return;
	snprintf(libraries->last, sizeof(libraries->last), "%s", path);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!fnmatch(names[i], path, 0)) {
			add_row(libraries->to, "library", path);
			return;
		}
}

int inventory_add_versions(struct trace *trace, bool here, struct text *to)
{
	struct utsname machine;
	char format[16];
	int err;

	snprintf(format, sizeof(format), "%d", lookup_format(trace));
	add_row(to, "recorded by verbatim", trace_meta(trace, "version"));
	add_row(to, "bundled by verbatim", VERBATIM_VERSION);
	add_row(to, "format of the trace", format);
	add_row(to, "kernel", trace_meta(trace, "kernel"));
	add_row(to, "machine", trace_meta(trace, "machine"));
	add_row(to, "device", trace_meta(trace, "device"));
	err = lookup_modules(trace, add_library, &(struct libraries){ .to = to });
	if (here && !uname(&machine))
		add_row(to, "kernel of the bundler", machine.release);
	return err ? err : to->failed ? log_err(-ENOMEM, "bundle") : 0;
}
