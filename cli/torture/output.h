#pragma once
/*
 * The output of a run of the program.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/torture/run.h"

/* The file @name of a run, "out" or "err", for free(); "" if there is none, NULL: no memory. */
char *output_read(const struct run *run, const char *name);

/* Replace numbers by '#': times, addresses and ports differ from run to run. */
void output_mask(char *text);

/* The first line of @text that contains @word, into @line. */
bool output_find(const char *text, const char *word, char *line, size_t size);

/* Find @word in what the run has written to stderr or stdout, as output_find() does. */
bool output_find_in_run(const struct run *run, const char *word, char *line, size_t size);
