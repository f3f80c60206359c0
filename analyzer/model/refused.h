#pragma once
/*
 * What the functions that know a reason of a refusal are given (the table in reason.c).
 *
 * They write the reason to @text and return true; or false, and know nothing. One thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/store/read/trace.h"

struct life;
struct model;

struct refused {
	struct model *model;
	const struct trace_event *event;
	const struct life *object; /* of a creation the first argument; NULL: not known */
};
