#pragma once
/*
 * The initial inputs of a fuzzer that works on bytes. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Call @accept for each file of CORPUS/seeds/@fuzzer, CORPUS being FUZZ_CORPUS or
 * build/fuzz/corpus. Ends the process if there is none, or one is not accepted: altered, it would
 * test nothing.
 */
void seeds_check(const char *fuzzer, bool (*accept)(const uint8_t *bytes, size_t n));
