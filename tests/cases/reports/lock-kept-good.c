#define GOOD 1
#include "lock-kept-bad.c"
