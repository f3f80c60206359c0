/*
 * verbatim bundle: what a bug report needs, in one file
 *
 * 	manifest.json   what is in it: lengths, SHA-256
 * 	versions.txt    of verbatim, the format, libraries, kernel
 * 	builds.txt      build ids of the program and its libraries
 * 	doctor.txt      the output of `verbatim doctor`; not with an anonymised trace
 * 	report.html     the page
 * 	trace.db        a copy of the trace, or what anonymise_write() makes of it
 *
 * All are made in a folder beside the bundle first, so that the list of them can be printed before
 * the bundle is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/bundle/archive.h"
#include "cli/folder.h"
#include "cli/bundle/inventory.h"
#include "cli/bundle/manifest.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cli/report/documents.h"
#include "cli/written.h"
#include "core/base/printable.h"
#include "core/store/anonymise/anonymise.h"
#include "core/store/copy.h"
#include "core/store/open.h"
#include "core/wire/log.h"

#define TRACE "trace.db"
#define PAGE  "report.html"

struct settings {
	const char *path;
	bool list, anonymise, json;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_bundle_options[] = {
	{ "output", 'o', "FILE", "the bundle to write, which must not exist",
	  TEXT_AT(struct settings, path), .otherwise = "name of the trace with .bundle, in the "
						       "current directory" },
	{ "list", 'l', NULL, "only list the contents", FLAG_AT(struct settings, list) },
	{ "anonymise", 'a', NULL,
	  "replace names, paths, arguments and addresses of machines; zero all payload",
	  FLAG_AT(struct settings, anonymise) },
	WRITTEN_OPTION(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

struct bundle {
	struct manifest manifest;
	struct folder folder;
	struct trace *trace; /* the trace that the bundle holds */
};

static void name_part(const struct bundle *b, const char *name, char path[PATH_MAX + 64])
{
	snprintf(path, PATH_MAX + 64, "%s/%s", b->folder.path, name);
}

/* Add a part, which is complete in the folder, to the manifest. */
static int measure_part(struct bundle *b, const char *name, const char *what)
{
	struct manifest_file *file = manifest_add(&b->manifest, name, what);
	char path[PATH_MAX + 64];

	name_part(b, name, path);
	return digest_file(path, file->digest, &file->bytes);
}

static int put_part(struct bundle *b, const char *name, const char *what, const struct text *text)
{
	char path[PATH_MAX + 64];

	name_part(b, name, path);
	return output_put(path, text) ?: measure_part(b, name, what);
}

static int put_trace(struct bundle *b, struct trace *from)
{
	bool anonymised = b->manifest.anonymised;
	char path[PATH_MAX + 64];
	int err;

	name_part(b, TRACE, path);
	err = anonymised ? anonymise_write(from, path) : trace_copy(from, path);
	if (!err)
		err = cli_open_trace(path, &b->trace);
	return err ?: measure_part(b, TRACE, anonymised ? "the trace, anonymised" : "the trace");
}

static int put_texts(struct bundle *b)
{
	struct text builds = { 0 }, versions = { 0 };
	int err = inventory_add_builds(b->trace, &builds);

	if (!err)
		err = inventory_add_versions(b->trace, !b->manifest.anonymised, &versions);
	if (!err)
		err = put_part(b, "versions.txt", "of verbatim, libraries, kernel", &versions);
	if (!err)
		err = put_part(b, "builds.txt", "build ids of programs and libraries", &builds);
	text_fini(&builds);
	text_fini(&versions);
	return err;
}

/*
 * Write the output of a subcommand; a failed one has printed the reason, and its part is left out.
 */
static int put_document(struct bundle *b, const struct document *document, const char *name,
			const char *what)
{
	if (document->status > CLI_FINDINGS) {
		log_note("bundle: %s is left out: verbatim %s failed", name, document->words[0]);
		return 0;
	}
	return put_part(b, name, what, &document->text);
}

/* The page names the trace by its path on the command line: its path in the folder is temporary. */
static int put_documents(struct bundle *b)
{
	struct document documents[] = { { .words = { "report", TRACE } },
					{ .words = { "doctor" } } };
	size_t n = b->manifest.anonymised ? 1 : 2;
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (here < 0 || chdir(b->folder.path))
		err = log_err(-errno, "enter %s", b->folder.path);
	else
		err = documents_make(documents, n);
	if (here >= 0 && fchdir(here) && !err)
		err = log_err(-errno, "leave %s", b->folder.path);
	if (here >= 0)
		close(here);
	if (!err && n > 1)
		err = put_document(b, &documents[1], "doctor.txt",
				   "output of `verbatim doctor` on this machine");
	if (!err)
		err = put_document(b, &documents[0], PAGE, "page of `verbatim report`");
	documents_fini(documents, n);
	return err;
}

static int make_parts(struct bundle *b, struct trace *from)
{
	return put_trace(b, from) ?: put_texts(b) ?: put_documents(b);
}

static int print_list(const struct bundle *b, struct trace *from, const char *path)
{
	char bytes[FORMAT_TEXT];

	print_untrusted(stdout, path);
	printf(":\n");
	for (size_t i = 0; i < b->manifest.n; i++)
		printf("  %-14s %10s  %s\n", b->manifest.files[i].name,
		       format_bytes((uint64_t)b->manifest.files[i].bytes, bytes),
		       b->manifest.files[i].what);
	inventory_print(from, b->manifest.anonymised);
	return fflush(stdout) ? log_err(-errno, "write to standard output") : 0;
}

/* The manifest is first, so that a reader knows what follows. */
static int write_archive(const struct bundle *b, const char *to)
{
	struct text manifest = { 0 };
	struct archive_writer *writer;
	char path[PATH_MAX + 64];
	int err;

	name_part(b, "bundle", path);
	err = archive_create(path, &writer);
	if (err)
		return err;
	manifest_write(&b->manifest, &manifest);
	err = manifest.failed
		      ? log_err(-ENOMEM, "bundle")
		      : archive_add_bytes(writer, MANIFEST_NAME, manifest.at, manifest.used);
	text_fini(&manifest);
	for (size_t i = 0; i < b->manifest.n && !err; i++) {
		const struct manifest_file *file = &b->manifest.files[i];

		name_part(b, file->name, path);
		err = archive_add_file(writer, file->name, path, file->bytes);
	}
	err = archive_finish(writer, err);
	return err ?: folder_move_file(&b->folder, "bundle", to);
}

/* Print the line of --json: what was written or, with --list, what would be. */
static int print_result(const struct bundle *b, const char *to, const struct settings *set)
{
	return written_put(
		"bundle", to,
		(const struct written_count[]){ WRITTEN_COUNT("files", b->manifest.n),
						WRITTEN_FLAG("anonymised", set->anonymise),
						WRITTEN_FLAG("written", !set->list),
						{ 0 } });
}

static int make_bundle(struct trace *from, const char *to, const struct settings *set)
{
	struct bundle b = { .manifest.anonymised = set->anonymise };
	int err = folder_make(&b.folder, to);

	if (!err)
		err = make_parts(&b, from);
	if (!err && !set->json)
		err = print_list(&b, from, to);
	trace_close(b.trace);
	if (!err && !set->list)
		err = write_archive(&b, to);
	if (!err && set->json)
		err = print_result(&b, to, set);
	folder_remove(&b.folder);
	return err;
}

/* "t.bundle" for "dir/t.db" */
static void name_bundle(const char *trace, char path[PATH_MAX])
{
	const char *slash = strrchr(trace, '/'), *name = slash ? slash + 1 : trace;
	size_t n = strlen(name);

	n -= n > 3 && !strcmp(name + n - 3, ".db") ? 3 : 0;
	snprintf(path, PATH_MAX, "%.*s.bundle", (int)n, name);
}

int cli_bundle(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	char path[PATH_MAX];
	struct trace *trace;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	cli_show_work("bundle");
	status = output_check("bundle", set.path) ?: cli_open("bundle", &arguments, 1, &trace);
	if (status)
		return status;
	name_bundle(arguments.at[0], path);
	cli_report_loss(trace);
	status = cli_status(make_bundle(trace, set.path ? set.path : path, &set));
	trace_close(trace);
	return status;
}
