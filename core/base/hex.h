#pragma once
/*
 * Numbers that are usually written in hexadecimal. Any thread.
 */
#include <stdbool.h>

/* Is @name, by its last part, that of a key, queue pair number, wr_id, ...? */
bool hex_suits(const char *name);
