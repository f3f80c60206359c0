#define GOOD
#include "srq-echo-bad.c"
