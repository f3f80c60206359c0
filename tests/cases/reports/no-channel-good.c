#define CHANNEL(end) (end)->ch
#include "no-channel-bad.c"
