#define GOOD
#include "signal-post-bad.c"
