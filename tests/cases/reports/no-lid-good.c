#define PORT 1
#include "no-lid-bad.c"
