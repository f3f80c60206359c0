/*
 * Foreign text in XML and HTML
 */
#include "core/base/xml.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"

void xml_put(FILE *out, const char *text, xml_printable *make)
{
	size_t size = PRINTABLE_GROWS * strlen(text) + 1;
	char *shown = malloc(size);

	if (shown)
		make(shown, size, text, strlen(text));
	for (const char *c = shown ? shown : ""; *c; c++) {
		if (*c == '<')
			fputs("&lt;", out);
		else if (*c == '>')
			fputs("&gt;", out);
		else if (*c == '&')
			fputs("&amp;", out);
		else if (*c == '"')
			fputs("&quot;", out);
		else
			fputc(*c, out);
	}
	free(shown);
}
