#define GOOD 1
#include "limit-first-bad.c"
