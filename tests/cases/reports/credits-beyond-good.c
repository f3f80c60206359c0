#define GOOD 1
#include "credits-beyond-bad.c"
