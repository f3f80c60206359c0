#pragma once
/*
 * Output of other subcommands, for a page to include. Not thread-safe.
 */
#include <stddef.h>

#include "core/base/text.h"

enum { DOCUMENT_WORDS = 64 };

/* A subcommand with its arguments, as on the command line, and its output. */
struct document {
	const char *words[DOCUMENT_WORDS]; /* the first is the subcommand's name */
	struct text text;
	int status;   /* its exit status */
	int out, err; /* private: files of its output */
	int child;    /* private */
};

/* Start the subcommands in parallel, each in a separate process. 0 or -errno after log_err(). */
int documents_start(struct document *documents, size_t n);

/*
 * Wait for all subcommands. Status 1 is a result (`check', `diff'); the output of one with another
 * status goes to standard error. 0 or -errno after log_err(): one could not be run, or was killed.
 */
int documents_await(struct document *documents, size_t n);

/* Start the subcommands, and wait for them. */
int documents_make(struct document *documents, size_t n);

/* Waits for subcommands that are still running. */
void documents_fini(struct document *documents, size_t n);
