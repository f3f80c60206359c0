#define GOOD
#include "slot-early-bad.c"
