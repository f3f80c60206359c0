#pragma once
#include <stdbool.h>

struct replay;

/* Does one thread play all? Noted where it was not asked for. */
bool choose_serial(struct replay *r);
