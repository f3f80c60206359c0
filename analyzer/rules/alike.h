#pragma once
/*
 * Merges findings of processes that run the same program and make the same mistake: the first
 * finding remains, and lists the other processes.
 *
 * Not thread-safe.
 */
#include "analyzer/rules/findings.h"

struct alike;

/* Returns 0 or -errno after log_err(). */
int alike_new(struct trace *trace, struct findings *findings, struct alike **ret_alike);

/* Accepts NULL. */
void alike_free(struct alike *alike);

/* Process the findings that were added since the last call. Sets findings->err. */
void alike_merge(struct alike *alike);
