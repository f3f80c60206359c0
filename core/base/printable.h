#pragma once
/*
 * Text that is not ours, made fit for a terminal and for one line of it.
 *
 * Whatever a trace, a recorded program, a file's name or another user says
 * goes through here before it is printed, to a terminal or not: a file is
 * shown on one later. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text is at most so many times longer when it is printable. */
enum { PRINTABLE_GROWS = 4 };

/*
 * One character of @text, of @n > 0 bytes: how many are its own, and its code
 * in *@ret_code. 0: no UTF-8 begins here (RFC 3629: no surrogates, shortest form).
 */
size_t printable_utf8(const char *text, size_t n, uint32_t *ret_code);

/* Shows as itself and moves nothing: no control, no character that is not seen. */
bool printable_code(uint32_t code);

/*
 * Write @text into @to, of @size > 0, and end it. What is not printable becomes
 * "\xNN", a byte, or "\u{NNNN}", a character; and so does a backslash that would read as
 * the beginning of one of these: what is printed says which bytes there were.
 * What has no room is left out, never half a character. Returns the length.
 */
size_t printable_text(char *to, size_t size, const char *text, size_t n);

/* The same of a text in lines that are ours: their ends stay, and so does each backslash. */
size_t printable_lines(char *to, size_t size, const char *text, size_t n);

/* Print what printable_text() makes of it. NULL is nothing. */
void print_foreign(FILE *out, const char *text);
void print_foreign_bytes(FILE *out, const char *text, size_t n);
