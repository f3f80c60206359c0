#pragma once
/*
 * Arguments of the functions that determine why a call was refused (the table in reason.c).
 *
 * The functions write the reason and return true, or return false if they do not know it. Not
 * thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/store/read/trace.h"

struct life;
struct model;

struct refused {
	struct model *model;
	const struct trace_event *event;
	const struct life *object; /* for a creation, the first argument; NULL: not known */
};
