#define GOOD
#include "arm-blind-bad.c"
