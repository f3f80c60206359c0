#define GOOD 1
#include "rereg-access-bad.c"
