#pragma once
/*
 * Commands run within a fuzzer, so that what they reach guides it.
 *
 * One thread.
 */
#include "tests/fuzz/mutate.h"

/* All inputs of CORPUS/@kind, CORPUS being FUZZ_CORPUS or build/fuzz/corpus; ends the process if
 * there is none. */
void inside_open(const char *kind);

/* A fresh copy of one of them. Returns its directory. */
const char *inside_copy(struct dice *dice);

/* Run a command, its words with blanks between them, in the copy. */
void inside_run(const char *line);

/* A file of these bytes. Returns its absolute path. */
const char *inside_file(const uint8_t *bytes, size_t n);
