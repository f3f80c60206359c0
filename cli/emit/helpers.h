#pragma once
/*
 * The functions that the C program has beside its threads, as far as it uses them.
 */
#include "cli/emit/program.h"

/* Add what comes before the threads: from #include to the last helper. */
void helpers_add(const struct program *program, struct text *text);

/* Add what all programs have behind their threads' variables: finding the device. */
void helpers_add_device(struct text *text);
