#define GOOD
#include "peer-failed-bad.c"
