/*
 * Sizes as users write them: a number, and K, M or G, in lower case, too
 */
#include "core/base/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t size_parse(const char *text)
{
	static const char units[] = "kKmMgG";
	static const int shifts[] = { 10, 10, 20, 20, 30, 30 };
	const char *unit;
	char *end;
	uint64_t n;
	int shift;

	errno = 0;
	n = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (errno || !isdigit((unsigned char)*text) || (*end && (!unit || end[1])))
		return 0;
	shift = unit ? shifts[unit - units] : 0;
	return n > UINT64_MAX >> shift ? 0 : n << shift;
}
