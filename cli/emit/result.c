/*
 * Checks of what a verb returns
 */
#include "cli/emit/result.h"

#include <stdlib.h>
#include <string.h>

#include "cli/emit/names.h"

void result_check(struct program *program, int64_t ret)
{
	struct text *text = &program->phrase.text;
	char *call = text->at && !text->failed ? strdup(text->at) : NULL;

	if (!call) {
		text->failed = true;
		return;
	}
	program->helpers |= HELPER_SAME;
	text_cut(text, 0);
	text_addf(text, "same(" SLOT "n, %s, ", call);
	names_add_errno(text, ret);
	text_addf(text, ");");
	free(call);
}
