#pragma once
/*
 * Replacing a value by what it is. One thread.
 */
#include "core/base/text.h"
#include "core/store/anonymise/identity.h"
#include "core/store/anonymise/substitutes.h"

/* A text that is @identity: what stands for it is added. False: it is to be left out. */
bool replace_text(struct substitutes *substitutes, enum identity identity, const char *text,
		  struct text *to);

/* A number that is @identity. */
int64_t replace_number(struct substitutes *substitutes, enum identity identity, int64_t number);

/*
 * The JSON of arguments: everything but what identifies stands there as it did. A text that is in
 * no list and is no enumerator is replaced. What is no JSON becomes an empty object.
 */
void replace_arguments(struct substitutes *substitutes, const char *json, size_t n,
		       struct text *to);
