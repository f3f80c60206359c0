#define GOOD
#include "state-003-drain-bad.c"
