#define GOOD
#include "mkey-009-striped-bad.c"
