#define GOOD 1
#include "move-unacked-bad.c"
