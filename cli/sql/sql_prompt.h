#pragma once
/*
 * Statements that are typed, or read line by line from a pipe. Not thread-safe.
 */
#include <stdbool.h>

struct sql_prompt;

/* @terminal: with editing and history (libedit). NULL if out of memory. */
struct sql_prompt *sql_prompt_open(bool terminal);

/* Accepts NULL. */
void sql_prompt_close(struct sql_prompt *prompt);

/*
 * The next statements, up to a line that ends one with ";", or a line that begins with a dot. NULL:
 * no more. Valid until the next call.
 */
const char *sql_prompt_read(struct sql_prompt *prompt);
