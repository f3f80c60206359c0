#define GOOD
#include "fork-later-bad.c"
