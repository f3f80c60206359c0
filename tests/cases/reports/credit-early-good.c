#define GOOD
#include "credit-early-bad.c"
