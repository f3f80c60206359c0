#define ORDER(port) htons(port)
#include "port-order-bad.c"
