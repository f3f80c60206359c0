#pragma once
/*
 * Replacing a value according to its kind. Not thread-safe.
 */
#include "core/base/text.h"
#include "core/store/anonymise/identity.h"
#include "core/store/anonymise/substitutes.h"

/* Add the substitute of a text of kind @identity. False: the caller must omit the text. */
bool replace_text(struct substitutes *substitutes, enum identity identity, const char *text,
		  struct text *to);

/* The substitute of a number of kind @identity. */
int64_t replace_number(struct substitutes *substitutes, enum identity identity, int64_t number);

/*
 * The JSON of arguments: everything except identifying data is unchanged. A text of an unknown
 * member is replaced, unless it is an enumerator. Text that is not JSON becomes an empty object.
 */
void replace_arguments(struct substitutes *substitutes, const char *json, size_t n,
		       struct text *to);

/* As replace_arguments(), but only names of hosts are replaced, no addresses. */
void replace_hosts(struct substitutes *substitutes, const char *json, size_t n, struct text *to);
