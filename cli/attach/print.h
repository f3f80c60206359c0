#pragma once
/*
 * Prints facts and reasons, as text or JSON, to standard output. Not thread-safe.
 */
#include <stdbool.h>

struct facts;
struct reasons;

void print_facts(const struct facts *facts, const struct reasons *reasons, bool json);
