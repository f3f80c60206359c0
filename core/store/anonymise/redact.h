#pragma once
/*
 * What `record --redact` replaces while it records, by the functions of `bundle --anonymise`.
 *
 * Equal texts get equal substitutes within one recording. Not replaced are addresses of machines,
 * without which traces of several nodes cannot be merged; `bundle --anonymise` replaces them, too.
 * Not thread-safe.
 */
#include <stdint.h>

#include "core/store/write/writer.h"

enum {
	REDACT_ARGV = 1,     /* arguments of programs */
	REDACT_ENV = 2,      /* values of environment variables */
	REDACT_HOST = 4,     /* names of hosts */
	REDACT_PATHS = 8,    /* paths of programs and libraries, and in arguments and variables */
	REDACT_NOTHING = 16, /* not even passwords in command lines: core/store/db/secret.h */
};

struct redact;

/* @what: REDACT_*. 0 or -errno after log_err(). */
int redact_new(uint32_t what, struct redact **ret_redact);

/* Accepts NULL. */
void redact_free(struct redact *redact);

/* The callback for a writer, valid as long as @redact; if @redact is NULL, nothing is replaced. */
struct writer_redact redact_writer(struct redact *redact);

/* As redact_writer(), for a text that is not written to a trace. */
bool redact_text(struct redact *redact, enum writer_text kind, const char *text, struct text *to);
