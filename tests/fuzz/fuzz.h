#pragma once
/*
 * A fuzzer: what its file has to define. Linked with libFuzzer, or with
 * plain.c where that is not at hand.
 */
#include <stddef.h>
#include <stdint.h>

/* Returns 0; whatever else is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* May be missing. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
