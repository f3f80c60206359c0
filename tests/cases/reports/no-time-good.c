#define MS 2000
#include "no-time-bad.c"
