#pragma once
/*
 * A directory in which all tests of a program make what they need:
 * GROUP(make_parent, remove_parent). It must be empty again when the last has run.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static char parent[] = "/tmp/verbatim-test-XXXXXX";

static inline int make_parent(void **state)
{
	(void)state;
	return mkdtemp(parent) ? 0 : -1;
}

static inline int remove_parent(void **state)
{
	(void)state;
	return rmdir(parent);
}
