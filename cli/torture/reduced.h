#pragma once
/*
 * Reduced traces of failures that were not handled. Not thread-safe.
 */
#include <signal.h>
#include <stdint.h>

#include "cli/torture/results.h"

/*
 * The rule that @says names, "LIFE-004 ibv_alloc_pd(): ..." or "SIGSEGV after ...; LIFE-002 ...";
 * false: none.
 */
bool reduced_find_rule(const char *says, char rule[16]);

/*
 * Reduce the traces of @results, DIR/N.db, to DIR/N.reduced.db, one of each group with the same
 * verdict, each for about @ns; sets result.reduced. Ends early once *@stopped.
 */
void reduced_make(struct results *results, uint64_t ns, const volatile sig_atomic_t *stopped);
