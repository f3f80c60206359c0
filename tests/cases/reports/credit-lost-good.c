#define GOOD
#include "credit-lost-bad.c"
