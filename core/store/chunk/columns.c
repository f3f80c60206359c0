/*
 * Column `kind`: the verbs of posts and polls
 */
#include "core/store/chunk/columns.h"

#include "core/wire/event.h"

uint32_t kind_of_verb(enum verb verb)
{
	switch (verb) {
#define KIND(kind, verb)  \
	case VERB_##verb: \
		return kind;
		EACH_KIND_OF_VERB(KIND)
#undef KIND
	default:
		return 0;
	}
}

unsigned int extra_part(enum column_id id)
{
	switch (id) {
#define BIT(column, bit)      \
	case COLUMN_##column: \
		return bit;
		EACH_EXTRA_BIT(BIT)
#undef BIT
	default:
		return 0;
	}
}
