/* Checks of a verb's result */
#include "cli/emit/result.h"

#include <string.h>

#include "cli/emit/names.h"

void result_check(struct program *program, int64_t ret)
{
	static const char before[] = "same(" SLOT "n, ";
	struct text *text = &program->phrase.text;
	size_t call = text->used, n = sizeof(before) - 1;

	program->helpers |= HELPER_SAME;
	if (program->phrase.ignored)
		return;
	text_add(text, before, n);
	if (text->failed)
		return;
	memmove(text->at + n, text->at, call);
	memcpy(text->at, before, n);
	text_add(text, ", ", 2);
	names_add_errno(text, ret);
	text_add(text, ");", 2);
}
