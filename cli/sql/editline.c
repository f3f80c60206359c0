/*
 * libedit, loaded when it is needed
 */
#include "cli/sql/editline.h"

#include "core/wire/log.h"

typeof(editline) editline;

bool editline_load(void)
{
	static const char *const names[] = { EDIT_LIB(LIBRARY_NAME) NULL };
	static bool told;
	const char *why = library_load("libedit.so.2", names, editline.functions);

	if (why && !told)
		log_note("install libedit to edit lines and to complete words: %s", why);
	told = why;
	return !why;
}
