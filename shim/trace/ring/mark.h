#pragma once
/*
 * Marks in the recording. Any thread; errno is preserved.
 */
#include "shim/trace/base/callback.h"

/* The recorder has injected a fault (MARK_FAULT). */
void record_mark_fault(const char *text);

/* The program has set a mark, recorded or not. */
CALLBACK(void, mark_seen, (int kind, const char *text));
