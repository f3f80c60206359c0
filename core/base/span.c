/*
 * Formatting times
 */
#include "core/base/span.h"

#include <stdio.h>
#include <string.h>

#include "core/base/digits.h"

const char *span_scaled(double value, double apart, const char *const *units, unsigned int nunits,
			char text[SPAN_TEXT])
{
	unsigned int unit = 0;

	for (; value >= apart - 0.5 && unit + 1 < nunits; unit++)
		value /= apart;
	snprintf(text, SPAN_TEXT, "%.*f %s",
		 !unit || value >= 99.95 ? 0
		 : value >= 9.995        ? 1
					 : 2,
		 value, units[unit]);
	return text;
}

const char *span_text(int64_t ns, char text[SPAN_TEXT])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	if (ns < 0)
		return strcpy(text, "-");
	if (ns < 1000) { /* most latencies */
		strcpy(text + digits_decimal(text, (uint64_t)ns), " ns");
		return text;
	}
	return span_scaled((double)ns, 1000, units, 4, text);
}
