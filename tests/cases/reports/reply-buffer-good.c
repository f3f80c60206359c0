#define GOOD
#include "reply-buffer-bad.c"
