#pragma once
/*
 * Finds the names in our sentences, for their colour: T:N, qp3, qp3/2, LIFE-001. Any thread.
 */
#include <stddef.h>
#include <stdio.h>

/*
 * Is a name in @word, which has no blanks and @n bytes? Returns its length, and where it begins;
 * 0: none. Punctuation may surround it.
 */
size_t highlight_name(const char *word, size_t n, size_t *ret_at);

/* Print @text, which may be foreign text, with its names in their style. */
void highlight_text(FILE *out, const char *text);
