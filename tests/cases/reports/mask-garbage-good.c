#define GOOD 1
#include "mask-garbage-bad.c"
