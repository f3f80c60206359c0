#pragma once
/*
 * What is altered, and the commands that read it: two lists, each ends with a zeroed row.
 */
#include "tests/fuzz/mutate.h"

/* CORPUS/@corpus has a directory for each input; the forms of @reads read it. */
struct kind {
	const char *name, *corpus, *reads;
	mutate_fn *mutate; /* NULL: the command is disturbed while it runs (live.h) */
};

/*
 * A line is a command as it is typed; @text is the text itself, @guest a program. Names before the
 * command are of its environment. It may end as @statuses says. What came of it is read by @then,
 * which may end as @allows. An input that was not altered must end it with one of @whole, if that
 * is not NULL.
 */
struct form {
	const char *reads, *line, *statuses, *then, *allows, *whole;
};

extern const struct kind kinds[];
extern const struct form forms[];

enum { FORM_COMMAND = 20, FORMS_MOST = 100, KINDS_MOST = 24 };

/* The word of a form that is the command. */
void form_command(const struct form *form, char name[FORM_COMMAND]);

/* Are both forms of one command, and of one input? */
bool form_is_like(const struct form *form, const struct form *other);
