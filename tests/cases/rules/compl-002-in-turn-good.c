#define GOOD
#include "compl-002-in-turn-bad.c"
