#pragma once
/*
 * Helper functions of the C program, as far as it uses them.
 */
#include "cli/emit/program.h"

/* Add the part before the threads: from #include to the last helper. */
void helpers_add(const struct program *program, struct text *text);

/* Add the part after the threads' variables that all programs have: finding the device. */
void helpers_add_device(struct text *text);
