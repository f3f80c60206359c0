#define GOOD
#include "late-answer-bad.c"
