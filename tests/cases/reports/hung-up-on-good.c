#define GOOD
#include "hung-up-on-bad.c"
