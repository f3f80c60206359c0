#define GOOD
#include "write-into-recv-bad.c"
