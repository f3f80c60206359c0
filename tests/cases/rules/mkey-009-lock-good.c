#define GOOD
#include "mkey-009-lock-bad.c"
