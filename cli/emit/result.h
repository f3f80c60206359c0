#pragma once
/*
 * Checks of what a verb returns.
 */
#include "cli/emit/program.h"

/*
 * What is in program->phrase is a call that returned @ret: make it a check that it does. A long one
 * is a statement of its own.
 */
void result_check(struct program *program, const char *verb, int64_t ret);
