#pragma once
/*
 * The passes over a trace that generate its statements.
 */
#include "cli/emit/maker.h"

/*
 * Fill @maker, zeroed, from @program's trace. 0; -ENOTSUP if a program cannot repeat the recording,
 * after log_err() with the reason; -errno.
 */
int build_program(struct maker *maker, struct program *program);
void build_fini(struct maker *maker);
