#pragma once
/*
 * Numbers that are usually written in hexadecimal. Any thread.
 */
#include <stdbool.h>

/* By the end of the name of what has it: keys, queue pair numbers, wr_ids... */
bool hex_suits(const char *name);
