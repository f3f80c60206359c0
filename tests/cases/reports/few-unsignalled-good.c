#define GOOD 1
#include "few-unsignalled-bad.c"
