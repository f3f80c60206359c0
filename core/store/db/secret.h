#pragma once
/*
 * Passwords in command lines.
 *
 * Command lines are recorded, and may contain passwords. Those that the list in secret.c finds are
 * replaced by SECRET_MASK; everything else is recorded unless `record --redact` replaces it. A line
 * is used by one thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

#define SECRET_MASK "***"

/* A command line whose words are added in their order. Zero it before its first word. */
struct secret_line {
	int next; /* what the next word may be, after an option: NEXT_* of secret.c */
};

/* Add the word @word of @n bytes to @to; passwords in it are replaced. */
void secret_add_word(struct secret_line *line, const char *word, size_t n, struct text *to);
