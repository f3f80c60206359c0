#define GOOD 1
#include "strip-early-bad.c"
