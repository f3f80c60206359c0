#define GOOD 1
#include "moderated-bad.c"
