#pragma once
/* The report of a replay as JUnit. Not thread-safe. */
#include <stdio.h>

struct outcome;

/* Returns 0 or -errno after log_err(). */
int replay_junit(const struct outcome *outcome, const char *path, int status, FILE *out);
