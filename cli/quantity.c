/*
 * Sizes and times as users write them
 */
#include "cli/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct unit {
	const char *name;
	int64_t ns;
} units[] = {
	{ "d", 86400000000000 }, { "h", 3600000000000 }, { "m", 60000000000 }, { "s", 1000000000 },
	{ "ms", 1000000 },       { "us", 1000 },         { "ns", 1 },
};
enum { UNITS = sizeof(units) / sizeof(*units) };

/* Nanoseconds in one @name; 0: it is not a unit. */
static int64_t find_unit(const char *name, bool seconds)
{
	if (!*name && seconds)
		name = "s";
	for (size_t i = 0; i < UNITS; i++)
		if (!strcmp(units[i].name, name))
			return units[i].ns;
	return 0;
}

/* @digits are the digits after the point, up to another character. */
static int64_t scale_fraction(const char *digits, int64_t unit)
{
	int64_t ns = 0;

	for (; isdigit((unsigned char)*digits) && unit > 1; digits++) {
		/* what remains of a minute, hour or day is below 1 ns */
		ns += unit * (*digits - '0') / 10;
		unit /= 10;
	}
	return ns;
}

bool quantity_time(const char *text, bool seconds, int64_t *ret_ns)
{
	size_t whole = strspn(text, "0123456789");
	const char *fraction = text[whole] == '.' ? text + whole + 1 : "";
	const char *end = *fraction ? fraction + strspn(fraction, "0123456789") : text + whole;
	int64_t unit, ns;

	end += *end == ' ' && end[1]; /* "63.4 ms", as times are printed */
	unit = find_unit(end, seconds);
	errno = 0;
	if (!whole || !unit || __builtin_mul_overflow(strtoull(text, NULL, 10), unit, &ns) ||
	    errno || __builtin_add_overflow(ns, scale_fraction(fraction, unit), &ns))
		return false;
	*ret_ns = ns;
	return true;
}

bool quantity_number(const char *text, uint64_t most, uint64_t *ret_number)
{
	char *end;
	uint64_t number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || errno || *end || number > most)
		return false;
	*ret_number = number;
	return true;
}

const char *quantity_size_text(uint64_t bytes, char text[QUANTITY_TEXT])
{
	static const char names[] = { 'G', 'M', 'k' };
	int shift = 30;

	for (size_t i = 0; i < sizeof(names); i++, shift -= 10) {
		if (bytes < 1ull << shift || bytes & ((1ull << shift) - 1))
			continue;
		snprintf(text, QUANTITY_TEXT, "%" PRIu64 "%c", bytes >> shift, names[i]);
		return text;
	}
	snprintf(text, QUANTITY_TEXT, "%" PRIu64, bytes);
	return text;
}

const char *quantity_time_text(int64_t ns, char text[QUANTITY_TEXT])
{
	size_t i = 0;

	while (i + 1 < UNITS && (ns < units[i].ns || ns % units[i].ns))
		i++;
	snprintf(text, QUANTITY_TEXT, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
	return text;
}
