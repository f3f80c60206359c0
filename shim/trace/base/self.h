#pragma once
/* The address and path of this library. */
#include <stdbool.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static inline bool self_contains(const void *at)
{
	return (const char *)at >= __ehdr_start && (const char *)at < _end;
}
