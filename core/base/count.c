/*
 * Formatting counts
 */
#include "core/base/count.h"

#include <stdio.h>

const char *count_text(uint64_t n, char text[COUNT_TEXT])
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}
