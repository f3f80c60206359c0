#pragma once
/*
 * The C program as text.
 */
#include "cli/emit/maker.h"

/* Add the whole program to @text. 0 or -errno after log_err(). */
int write_program(struct maker *maker, struct text *text);
