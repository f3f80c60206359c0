#pragma once
/*
 * Text in lines of 96 columns, or as many as the terminal has. Any thread.
 */
#include <stdio.h>

/* From now on; before the first thread. */
void wrap_to_columns(int columns);
int wrap_columns(void);

/*
 * Print @text, which may come from a trace, from @column on; lines but the first are indented
 * by @indent blanks. A newline ends it.
 */
void wrap_text(FILE *out, int column, int indent, const char *text);
