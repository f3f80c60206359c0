#pragma once
/*
 * A comparison, as `verbatim diff` prints it. Not thread-safe.
 */
#include <stdio.h>

#include "analyzer/diff/diff.h"

/* Each returns 0 or -ENOMEM after log_err(). @status is the exit status to report. */
int diff_print_text(const struct diff *diff);
int diff_print_json(const struct diff *diff, int status);
int diff_print_junit(const struct diff *diff, int status);
