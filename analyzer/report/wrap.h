#pragma once
/*
 * Text in lines of 96 columns. Any thread.
 */
#include <stdio.h>

/*
 * Print @text, which may come from a trace, from @column on; lines but the first are indented
 * by @indent blanks. A newline ends it.
 */
void wrap_text(FILE *out, int column, int indent, const char *text);
