/*
 * The output of other subcommands, for a page
 *
 * The page shows the findings of `check` and the changes of `diff` from their output for programs,
 * so that no number is computed twice. A subcommand owns standard output; each runs in a child,
 * into a file without a name.
 */
#include "cli/report/documents.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "core/wire/log.h"

enum { UNUSABLE = 127 }; /* exit status that no subcommand uses */

static int count_words(const struct document *document)
{
	int n = 0;

	while (n < DOCUMENT_WORDS && document->words[n])
		n++;
	return n;
}

/* Run a subcommand in the child. What the trace lacks was reported by the parent. */
__attribute__((noreturn)) static void run_command(const struct document *document)
{
	const struct command *command = command_find(document->words[0]);
	char *words[DOCUMENT_WORDS + 1] = { NULL };
	int n = count_words(document), status;

	for (int i = 0; i < n; i++)
		words[i] = (char *)document->words[i];
	if (dup2(document->out, STDOUT_FILENO) < 0 || dup2(document->err, STDERR_FILENO) < 0)
		_exit(UNUSABLE);
	status = command->run(n, words);
	_exit(fflush(stdout) ? UNUSABLE : status);
}

static int start_document(struct document *document)
{
	document->out = memfd_create("report-out", MFD_CLOEXEC);
	document->err = memfd_create("report-err", MFD_CLOEXEC);
	if (document->out < 0 || document->err < 0)
		return log_err(-errno, "report: memfd_create()");
	document->child = fork();
	if (document->child < 0)
		return log_err(-errno, "report: fork()");
	if (!document->child)
		run_command(document);
	return 0;
}

static int read_file(int fd, struct text *text)
{
	char bytes[1 << 16];
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		text_add(text, bytes, (size_t)n);
	if (n < 0)
		return log_err(-errno, "report: pread()");
	return text->failed ? log_err(-ENOMEM, "report") : 0;
}

static void report_error(const struct document *document)
{
	struct text said = { 0 };

	if (!read_file(document->err, &said) && said.used)
		fwrite(said.at, 1, said.used, stderr);
	text_fini(&said);
}

static int await_document(struct document *document)
{
	int status;

	while (waitpid(document->child, &status, 0) < 0)
		if (errno != EINTR)
			return log_err(-errno, "report: wait for %s", document->words[0]);
	document->status = WIFEXITED(status) ? WEXITSTATUS(status) : UNUSABLE;
	if (document->status > CLI_FINDINGS)
		report_error(document);
	if (document->status == UNUSABLE)
		return log_why(-EIO, "report: %s did not terminate", document->words[0]);
	return read_file(document->out, &document->text);
}

int documents_start(struct document *documents, size_t n)
{
	int err = 0;

	fflush(stdout);
	for (size_t i = 0; i < n; i++)
		documents[i].out = documents[i].err = -1;
	for (size_t i = 0; i < n && !err; i++)
		err = start_document(&documents[i]);
	return err;
}

int documents_await(struct document *documents, size_t n)
{
	int failed = 0, status;

	for (size_t i = 0; i < n; i++) {
		status = documents[i].child > 0 ? await_document(&documents[i]) : 0;
		documents[i].child = 0;
		if (status && !failed)
			failed = status;
	}
	return failed;
}

int documents_make(struct document *documents, size_t n)
{
	int err = documents_start(documents, n), failed = documents_await(documents, n);

	return err ? err : failed;
}

void documents_fini(struct document *documents, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (documents[i].child > 0)
			waitpid(documents[i].child, NULL, 0);
		if (documents[i].out > 0)
			close(documents[i].out);
		if (documents[i].err > 0)
			close(documents[i].err);
		text_fini(&documents[i].text);
	}
}
