#define GOOD 1
#include "list-each-bad.c"
