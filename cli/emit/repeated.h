#pragma once
/*
 * Requests and completions that a thread has in several places: each becomes a macro.
 *
 * Not thread-safe.
 */
#include "cli/emit/statement.h"

enum repeated_kind {
	REPEATED_SEND,
	REPEATED_RECV,
	REPEATED_SENT,
	REPEATED_RECEIVED,
	REPEATED_KINDS
};

struct repeated_texts {
	struct texts texts; /* each text, as C */
	struct repeated_use {
		enum repeated_kind kind;
		unsigned int times;  /* in this thread */
		unsigned int number; /* number of its macro; 0: it has none yet */
	} * uses;                    /* by text, from 0 for text 1 */
	size_t nuses;
	unsigned int numbers[REPEATED_KINDS];
	struct text macros; /* of this thread */
};

/* The first request or completion in the text of a statement, and its length; NULL: none. */
const char *repeated_find(const char *text, size_t *ret_length);

/* Count a request or completion, as C @source without slots. 0 or -ENOMEM. */
int repeated_count(struct repeated_texts *repeated, const char *source);

/* Add the name of the macro of @source, which is defined if it is new. False: it has none. */
bool repeated_add(struct repeated_texts *repeated, const char *source, struct text *text);

/* The next thread begins. */
void repeated_restart(struct repeated_texts *repeated);
void repeated_fini(struct repeated_texts *repeated);
