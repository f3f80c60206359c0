/*
 * Colours by role
 *
 * The terminal's own eight colours, so that they suit its theme, dark or light.
 */
#include "core/base/style.h"

#include <string.h>

static const char sequences[STYLES][STYLE_LENGTH + 1] = {
	[STYLE_PLAIN] = "\033[0m",   [STYLE_HEAD] = "\033[1m",  [STYLE_DIM] = "\033[2m",
	[STYLE_ERROR] = "\033[31m",  [STYLE_GOOD] = "\033[32m", [STYLE_WARNING] = "\033[33m",
	[STYLE_HAZARD] = "\033[35m", [STYLE_NAME] = "\033[36m",
};
static bool enabled;

void style_enable(bool on)
{
	enabled = on;
}

bool style_is_enabled(void)
{
	return enabled;
}

const char *style_sequence(enum style style)
{
	return enabled ? sequences[style] : "";
}

void style_put(FILE *out, enum style style)
{
	if (enabled)
		fputs(sequences[style], out);
}

void style_text(FILE *out, enum style style, const char *text)
{
	style_put(out, style);
	fputs(text, out);
	style_put(out, STYLE_PLAIN);
}

enum style style_of_severity(char severity)
{
	switch (severity) {
	case 'E':
		return STYLE_ERROR;
	case 'W':
		return STYLE_WARNING;
	case 'H':
		return STYLE_HAZARD;
	default:
		return STYLE_HEAD;
	}
}

size_t style_length(const char *text, size_t n)
{
	for (int i = 0; enabled && n && text[0] == '\033' && i < STYLES; i++) {
		size_t length = strlen(sequences[i]);

		if (length <= n && !memcmp(text, sequences[i], length))
			return length;
	}
	return 0;
}

size_t style_complete_length(const char *text, size_t n)
{
	size_t from = n < STYLE_LENGTH ? 0 : n - (STYLE_LENGTH - 1);

	for (size_t at = from; enabled && at < n; at++)
		for (int i = 0; i < STYLES; i++)
			if (n - at < strlen(sequences[i]) &&
			    !memcmp(text + at, sequences[i], n - at))
				return at;
	return n;
}
