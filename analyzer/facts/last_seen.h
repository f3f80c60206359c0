#pragma once
/*
 * What a killed process was doing that had called no verb for long, as the recorder's samples show.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/fact.h"

struct stalls;

/* Complete the facts about killed processes; stalls_finish() has read the samples. */
void last_seen_finish(struct fact_list *facts, const struct stalls *stalls);
