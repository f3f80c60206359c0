#define GOOD 1
#include "list-refused-bad.c"
