#pragma once
/*
 * Text in lines of 96 columns, or as wide as the terminal. Any thread.
 */
#include <stdio.h>

/* Set the width; before the first thread is started. */
void wrap_to_columns(int columns);
int wrap_columns(void);

/*
 * Print @text, which may be foreign text, from @column on; all lines but the first are indented by
 * @indent blanks. Ends with a newline.
 */
void wrap_text(FILE *out, int column, int indent, const char *text);
