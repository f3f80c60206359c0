#pragma once
/*
 * Numbers that are usually written in hexadecimal. Any thread.
 */
#include <stdbool.h>

/* By the last part of the name: keys, queue pair numbers, wr_ids... */
bool hex_suits(const char *name);
