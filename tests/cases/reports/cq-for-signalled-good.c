#define GOOD
#include "cq-for-signalled-bad.c"
