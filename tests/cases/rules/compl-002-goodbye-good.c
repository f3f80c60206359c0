#define GOOD
#include "compl-002-goodbye-bad.c"
