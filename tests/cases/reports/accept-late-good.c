#define GOOD 1
#include "accept-late-bad.c"
