#pragma once
/*
 * Functions that go on to another, and say so before: x86-64.
 */
#include <stdbool.h>

enum { STUBS = 512 };

/* The function that goes on to @next; of one index always the same. */
void *stub_to(unsigned int index, void *next);

bool stub_is(const void *at);

/* Written by who has stubs: stub @index is called. errno may be changed. */
void stub_called(unsigned int index);
