#define GOOD 1
#include "write-overtakes-bad.c"
