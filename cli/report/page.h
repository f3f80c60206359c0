#pragma once
/*
 * Assembles the page. Not thread-safe.
 */
#include "core/base/text.h"

/*
 * Append the page that shows @data, one JSON object. Nothing in @data can be taken for markup. 0 or
 * -ENOMEM after log_err().
 */
int page_write(struct text *out, const struct text *data);
