#define GOOD 1
#include "ack-twice-bad.c"
