#define GOOD
#include "header-again-bad.c"
