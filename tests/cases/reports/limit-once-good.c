#define GOOD
#include "limit-once-bad.c"
