#define GOOD 1
#include "first-of-array-bad.c"
