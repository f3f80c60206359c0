#pragma once
/*
 * Commands run within a fuzzer, so that their coverage guides it.
 *
 * Not thread-safe.
 */
#include "tests/fuzz/mutate.h"

/*
 * Take all inputs of CORPUS/@kind as well, CORPUS being FUZZ_CORPUS or build/fuzz/corpus. Ends the
 * process if there is none, or if the command @line refuses one: altered, it would test nothing.
 */
void inside_open(const char *kind, const char *line);

/* A fresh copy of one of them. Returns its directory. */
const char *inside_copy(struct dice *dice);

/* Run a command, its words with blanks between them, in the copy. Returns its status. */
int inside_run(const char *line);

/* A file of these bytes. Returns its absolute path. */
const char *inside_file(const uint8_t *bytes, size_t n);
