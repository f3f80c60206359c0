#pragma once
/*
 * Merges findings of processes that run the same program and make the same mistake: the first
 * finding remains, and lists the other processes.
 *
 * Not thread-safe.
 */
#include "analyzer/rules/findings.h"

struct dedup;

/* Returns 0 or -errno after log_err(). */
int dedup_new(struct trace *trace, struct findings *findings, struct dedup **ret_alike);

/* Accepts NULL. */
void dedup_free(struct dedup *alike);

/* Process the findings that were added since the last call. Sets findings->err. */
void dedup_merge(struct dedup *alike);
