#pragma once
/*
 * What other subcommands say, for a page to hold. One thread.
 */
#include <stddef.h>

#include "core/base/text.h"

enum { DOCUMENT_WORDS = 10 };

/* A subcommand with its arguments, as on the command line, and what it printed. */
struct document {
	const char *words[DOCUMENT_WORDS]; /* the first is the subcommand's name */
	struct text text;
	int status;   /* as it exited */
	int out, err; /* private: files of what it printed */
	int child;    /* private */
};

/*
 * Run them beside each other, each in a process of its own. Status 1 is a result (`check', `diff');
 * what one with another status said goes to standard error. 0 or -errno after log_err(): one could
 * not be run, or did not end by itself.
 */
int documents_make(struct document *documents, size_t n);

void documents_fini(struct document *documents, size_t n);
