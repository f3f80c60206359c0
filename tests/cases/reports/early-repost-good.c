#define GOOD 1
#include "early-repost-bad.c"
