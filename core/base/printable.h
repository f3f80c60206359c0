#pragma once
/*
 * Makes foreign text printable on one line of a terminal.
 *
 * All text from a trace, a recorded program, a file name or another user must pass through these
 * functions before it is printed, even to a file, since that may be shown on a terminal later. Any
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Printable text is at most this many times as long as the original. */
enum { PRINTABLE_GROWS = 4 };

/*
 * Decode the first character of @text, of @n > 0 bytes: returns its length, with its code in
 * *@ret_code. 0: not valid UTF-8 (RFC 3629: no surrogates, shortest form).
 */
size_t printable_utf8(const char *text, size_t n, uint32_t *ret_code);

/* Is the character @code visible, that is neither invisible nor a control character? */
bool printable_code(uint32_t code);

/*
 * Write @text into @to, of @size > 0, and terminate it. A byte or character that is not printable
 * becomes "\xNN" or "\u{NNNN}", and so does a backslash that would look like the beginning of one
 * of these, so that the original bytes can be reconstructed. Characters that do not fit are left
 * out, never half of one. Returns the length.
 */
size_t printable_text(char *to, size_t size, const char *text, size_t n);

/* The same for a text with line breaks of our own: line breaks and backslashes are not changed. */
size_t printable_lines(char *to, size_t size, const char *text, size_t n);

/* Print the result of printable_text(). NULL prints nothing. */
void print_untrusted(FILE *out, const char *text);
void print_untrusted_bytes(FILE *out, const char *text, size_t n);
