#pragma once
/*
 * What a process was doing that had called no verb for long, as the recorder's samples show.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/fact.h"

struct stall;
struct stalls;
struct text;

enum { LAST_SEEN_TEXT = 128 };

/* Add "was stopped by a signal from 1.00 s on, for 2.00 s". */
void last_seen_put_stopped(struct text *t, const struct stall *stall);

/* "it was running" or "it slept in the kernel, in futex_do_wait"; "" if no sample shows it. */
const char *last_seen_describe(const struct stall *stall, char text[LAST_SEEN_TEXT]);

/* Complete the facts about killed processes; stalls_finish() has read the samples. */
void last_seen_finish(struct fact_list *facts, const struct stalls *stalls);
