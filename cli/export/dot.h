#pragma once
/*
 * The objects of a trace and their dependencies, as a graph for graphviz. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct text;
struct view;

struct dot_choice {
	uint32_t process; /* 0: all */
	bool alive;       /* only objects that are alive at that time */
};

/*
 * Append the objects that were created before the time of @view, whose trace has the tables of
 * analyzer/tables/tables.h. Returns 0 or -errno after log_err().
 */
int dot_write(struct text *out, const struct view *view, const struct dot_choice *choice);
