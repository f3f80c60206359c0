#pragma once
/*
 * Checks of the return values of verbs.
 */
#include "cli/emit/program.h"

/* program->phrase is a call that returned @ret: turn it into a check of its result. */
void result_check(struct program *program, int64_t ret);
