#define GOOD 1
#include "ud-order-bad.c"
