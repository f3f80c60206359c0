#pragma once
/*
 * Checks of what a verb returns.
 */
#include "cli/emit/program.h"

/* What is in program->phrase is a call that returned @ret: make it a check that it does. */
void result_check(struct program *program, int64_t ret);
