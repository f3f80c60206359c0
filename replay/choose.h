#pragma once
#include <stdbool.h>

struct replay;

/* Should one thread play all events? Prints a note if that was not requested. */
bool choose_serial(struct replay *r);
