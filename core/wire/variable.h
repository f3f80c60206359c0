#pragma once
/*
 * Decides which environment variables of a program a trace may contain. Any thread; no lock, no
 * allocation.
 */
#include <stdbool.h>
#include <stddef.h>

/* This text replaces all other values, when they are printed and in copies of a trace. */
#define VARIABLE_HIDDEN "(not shown)"

/*
 * Do RDMA libraries or this recorder read the variable @name (@n bytes), and does @value contain no
 * secret? @value may be truncated.
 */
bool variable_is_recorded(const char *name, size_t n, const char *value);

/*
 * Returns @value if variable_is_recorded(), else VARIABLE_HIDDEN: for traces that are older than
 * the list.
 */
const char *variable_shown(const char *name, const char *value);
