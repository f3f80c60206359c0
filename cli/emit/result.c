/*
 * Checks of what a verb returns
 */
#include "cli/emit/result.h"

#include <stdlib.h>
#include <string.h>

#include "cli/emit/names.h"

enum { ALONE = 50 }; /* a call that is longer is a statement of its own */

void result_check(struct program *program, const char *verb, int64_t ret)
{
	struct text *text = &program->phrase.text;
	char *call = text->at && !text->failed ? strdup(text->at) : NULL;

	if (!call) {
		text->failed = true;
		return;
	}
	program->helpers |= HELPER_SAME;
	text_cut(text, 0);
	if (strchr(call, '\n') || strlen(call) > ALONE)
		text_addf(text, "ret = %s;\nsame(" SLOT "n, \"%s\", ret, ", call, verb);
	else
		text_addf(text, "same(" SLOT "n, \"%s\", %s, ", verb, call);
	names_add_errno(text, ret);
	text_addf(text, ");");
	free(call);
}
