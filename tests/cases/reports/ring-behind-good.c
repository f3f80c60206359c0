#define GOOD
#include "ring-behind-bad.c"
