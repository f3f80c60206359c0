#define GOOD 1
#include "edge-read-bad.c"
