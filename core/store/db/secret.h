#pragma once
/*
 * Passwords in command lines.
 *
 * A command line is recorded, and may have a password in it. What the list in secret.c finds is
 * replaced by SECRET_MASK; whatever else the arguments have is recorded unless `record --redact`
 * says otherwise. One thread a line; no lock.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/base/text.h"

#define SECRET_MASK "***"

/* A line, of which words are added in their order. All zero: at its beginning. */
struct secret_line {
	int next; /* what the next word is, after an option: secret.c */
};

/* Add the word @word, @n bytes, to @to, without its passwords. */
void secret_add_word(struct secret_line *line, const char *word, size_t n, struct text *to);
