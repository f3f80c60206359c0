#define GOOD 1
#include "ud-number-bad.c"
