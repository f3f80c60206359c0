#pragma once
/*
 * Text in lines of 96 columns, or as wide as the terminal. Any thread.
 */
#include <stdio.h>

#include "core/base/style.h"

/* Set the width; before the first thread is started. */
void wrap_to_columns(int columns);
int wrap_columns(void);

/*
 * Bytes of a text with a style of their own; elsewhere only names are styled
 * (analyzer/report/highlight.h).
 */
struct wrap_spans {
	unsigned int n;
	struct {
		size_t from, to;
		enum style style;
	} all[4];
};

void wrap_mark(struct wrap_spans *spans, size_t from, size_t to, enum style style);

/*
 * Print @text, which may be foreign text, from @column on; all lines but the first are indented by
 * @indent blanks. Ends with a newline.
 */
void wrap_text(FILE *out, int column, int indent, const char *text);
void wrap_styled(FILE *out, int column, int indent, const char *text,
		 const struct wrap_spans *spans);
