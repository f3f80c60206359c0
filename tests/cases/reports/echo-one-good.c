#define GOOD
#include "echo-one-bad.c"
