#define GOOD
#include "mkey-009-beside-bad.c"
