#pragma once
/* Sizes as people write them. */
#include <stdint.h>

/* "4M", "256k", "2G", "1048576"; 0 where that is no size, or none that 64 bits hold. */
uint64_t size_parse(const char *text);
