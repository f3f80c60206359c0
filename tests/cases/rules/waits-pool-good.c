#define GOOD
#include "waits-pool-bad.c"
