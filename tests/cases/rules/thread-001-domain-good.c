#define GOOD
#include "thread-001-domain-bad.c"
