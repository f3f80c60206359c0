#define GOOD
#include "ud-burst-bad.c"
