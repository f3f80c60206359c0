#pragma once
/*
 * Foreign text in XML and HTML. Not thread-safe.
 */
#include <stdio.h>

/* printable_text() or printable_lines(): it must escape the characters that XML does not allow. */
typedef size_t xml_printable(char *to, size_t size, const char *text, size_t n);

/* Write @text as content, or as the value of an attribute. Nothing if out of memory. */
void xml_put(FILE *out, const char *text, xml_printable *make);
