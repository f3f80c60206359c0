#pragma once
/*
 * Which variables of a program's environment a trace may hold. Any thread; no lock, no memory.
 */
#include <stdbool.h>
#include <stddef.h>

/* What readers print, and copies of a trace hold, instead of any other value. */
#define VARIABLE_HIDDEN "(not shown)"

/*
 * Is the variable of @name (@n bytes) one that RDMA libraries or this recorder read, and @value no
 * place for a secret? @value may be cut.
 */
bool variable_is_recorded(const char *name, size_t n, const char *value);

/* @value, or VARIABLE_HIDDEN. For traces that were recorded before there was a list. */
const char *variable_shown(const char *name, const char *value);
