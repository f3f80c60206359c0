#pragma once
/*
 * Numbers as text, for output of millions of lines: printf() takes several times as long. Any
 * thread.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { DIGITS_MAX = 20 }; /* of a number */

/* Write the digits of @number to @to, not terminated. Returns their count. */
size_t digits_decimal(char to[DIGITS_MAX], uint64_t number);
size_t digits_hex(char to[DIGITS_MAX], uint64_t number);

void print_number(FILE *out, int64_t number);
void print_unsigned(FILE *out, uint64_t number);
void print_hex(FILE *out, uint64_t number); /* 0x.. */
void print_blanks(FILE *out, int n);        /* none if @n is negative */
