/*
 * Numbers as text
 */
#include "core/base/digits.h"

#include <string.h>

size_t digits_decimal(char to[DIGITS_MAX], uint64_t number)
{
	char digits[DIGITS_MAX], *at = digits + sizeof(digits);
	size_t n;

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	n = (size_t)(digits + sizeof(digits) - at);
	memcpy(to, at, n);
	return n;
}

size_t digits_hex(char to[DIGITS_MAX], uint64_t number)
{
	size_t n = 1;

	while (n < 16 && number >> (4 * n))
		n++;
	for (size_t i = n; i-- > 0; number >>= 4)
		to[i] = "0123456789abcdef"[number & 0xf];
	return n;
}

void print_unsigned(FILE *out, uint64_t number)
{
	char digits[DIGITS_MAX];

	fwrite(digits, 1, digits_decimal(digits, number), out);
}

void print_number(FILE *out, int64_t number)
{
	if (number < 0)
		fputc('-', out);
	print_unsigned(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void print_hex(FILE *out, uint64_t number)
{
	char digits[2 + DIGITS_MAX] = "0x";

	fwrite(digits, 1, 2 + digits_hex(digits + 2, number), out);
}

void print_blanks(FILE *out, int n)
{
	static const char blanks[] = "                                ";

	for (int some; n > 0; n -= some) {
		some = n < (int)sizeof(blanks) - 1 ? n : (int)sizeof(blanks) - 1;
		fwrite(blanks, 1, (size_t)some, out);
	}
}
