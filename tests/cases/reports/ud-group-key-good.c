#define GOOD 1
#include "ud-group-key-bad.c"
