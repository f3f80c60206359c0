#define GOOD
#include "relaxed-flag-bad.c"
