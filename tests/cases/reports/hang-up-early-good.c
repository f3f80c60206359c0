#define GOOD 1
#include "hang-up-early-bad.c"
