#define GOOD
#include "srq-limit-high-bad.c"
