#define GOOD
#include "cq-wrong-armed-bad.c"
