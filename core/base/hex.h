#pragma once
/*
 * Numbers that are usually written in hexadecimal. Any thread.
 */
#include <stdbool.h>

/* Does the last part of @name say that the number is a key, queue pair number, wr_id, ...? */
bool hex_is_usual_for(const char *name);
