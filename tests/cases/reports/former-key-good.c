#define GOOD
#include "former-key-bad.c"
