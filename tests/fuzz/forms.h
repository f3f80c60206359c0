#pragma once
/*
 * Altered inputs, and the commands that read them: two lists, each ends with a zeroed row.
 */
#include "tests/fuzz/mutate.h"

/* CORPUS/@corpus has a directory for each input; the forms of @reads read it. */
struct kind {
	const char *name, *corpus, *reads;
	mutate_fn *mutate; /* NULL: the command is disturbed while it runs (live.h) */
};

/*
 * A @line is a command as typed; "@text" in it is the text itself, "@guest" a program. Names before
 * the command are variables of its environment. Its status must be one of @statuses. @then reads
 * its result, with a status of @allows. For an unaltered input its status must be one of @whole,
 * if that is not NULL.
 */
struct form {
	const char *reads, *line, *statuses, *then, *allows, *whole;
};

extern const struct kind kinds[];
extern const struct form forms[];

enum { FORM_COMMAND = 20, FORMS_MOST = 100, KINDS_MOST = 24 };

/* The word of a form that is the command. */
void form_command(const struct form *form, char name[FORM_COMMAND]);

/* Are both forms of the same command and input? */
bool form_is_like(const struct form *form, const struct form *other);
