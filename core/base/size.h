#pragma once
/* Sizes as people write them. */
#include <stdint.h>

/* "4M", "256k", "2G", "1048576"; 0 if it is not a size, or does not fit into 64 bits. */
uint64_t size_parse(const char *text);
