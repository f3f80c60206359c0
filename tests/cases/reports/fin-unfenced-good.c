#define GOOD 1
#include "fin-unfenced-bad.c"
