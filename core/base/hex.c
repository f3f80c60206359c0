/*
 * Numbers that are usually written in hexadecimal
 */
#include "core/base/hex.h"

#include <stddef.h>
#include <string.h>

bool hex_is_usual_for(const char *name)
{
	static const char *const ends[] = { "key",  "qp_num", "qpn",   "psn",
					    "guid", "lid",    "wr_id", "imm_data" };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (length >= strlen(ends[i]) && !strcmp(name + length - strlen(ends[i]), ends[i]))
			return true;
	return false;
}
