#pragma once
/*
 * The passes over a trace that make statements of it.
 */
#include "cli/emit/maker.h"

/*
 * Fill @maker, zeroed, from @program's trace. 0; -ENOTSUP where a program cannot do what was
 * recorded, after log_err() that says what; -errno.
 */
int build_program(struct maker *maker, struct program *program);
void build_fini(struct maker *maker);
