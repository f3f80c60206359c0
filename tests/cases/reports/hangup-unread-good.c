#define GOOD 1
#include "hangup-unread-bad.c"
