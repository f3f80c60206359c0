#pragma once
/*
 * The files with code that a process has mapped, opened for unwinding. Not thread-safe.
 */
#include <stddef.h>

#include "cli/attach/unwind.h"

struct facts;
struct target_map;

/* Open the file at @map for unwinding; -1: the file at this path is not the mapped one. */
typedef int modules_open_fn(const struct facts *facts, const struct target_map *map);
modules_open_fn modules_open_file;

/* Open at most UNWIND_MODULES. Returns how many. */
size_t modules_open(const struct facts *facts, modules_open_fn *open,
		    struct unwind_module modules[UNWIND_MODULES]);
void modules_close(struct unwind_module *modules, size_t n);
