#pragma once
/*
 * Selects the environment variables of a program that a trace may contain. Any thread; no lock, no
 * allocation.
 */
#include <stdbool.h>
#include <stddef.h>

/* Text that readers print, and copies of a trace contain, instead of any other value. */
#define VARIABLE_HIDDEN "(not shown)"

/*
 * Do RDMA libraries or this recorder read the variable @name (@n bytes), and does @value contain no
 * secret? @value may be cut.
 */
bool variable_is_recorded(const char *name, size_t n, const char *value);

/* @value, or VARIABLE_HIDDEN. For traces that were recorded before the list existed. */
const char *variable_shown(const char *name, const char *value);
