#define GOOD
#include "one-ticket-bad.c"
