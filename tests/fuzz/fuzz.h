#pragma once
/*
 * A fuzzer: functions that its file must define. Linked with libFuzzer, or with plain.c if that is
 * not available.
 */
#include <stddef.h>
#include <stdint.h>

/* Returns 0; a failure ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* May be missing. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
