#define GOOD
#include "one-per-event-bad.c"
