#pragma once
/*
 * Functions for SQL that take symbols: symbol(ip [, process]) and stack(id).
 *
 * Not thread-safe.
 */
#include "core/store/read/trace.h"

struct sql_symbols;

/* Add the functions to the connection of @trace. 0 or -errno; free after the trace is closed. */
int sql_symbols_add(struct trace *trace, struct sql_symbols **ret_symbols);

/* Accepts NULL. */
void sql_symbols_free(struct sql_symbols *symbols);
