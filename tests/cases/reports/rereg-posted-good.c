#define GOOD 1
#include "rereg-posted-bad.c"
