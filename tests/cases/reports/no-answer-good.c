#define GOOD 1
#include "no-answer-bad.c"
