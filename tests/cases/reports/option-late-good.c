#define GOOD 1
#include "option-late-bad.c"
