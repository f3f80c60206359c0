#pragma once
/*
 * The report of a replay as load. Not thread-safe.
 */
#include <stdio.h>

#include "analyzer/profile/histogram.h"
#include "replay/load/load_run.h"

struct load_report {
	const char *name; /* of the trace or the text */
	const struct load *load;
	double pace;
	struct load_result result;
	struct histogram lateness; /* of requests whose queue was not full, ns */
};

/* Print the verdict, then rates, issue times, and the requests that were not sent or received. */
void load_report_text(const struct load_report *report, FILE *to);
void load_report_json(const struct load_report *report, FILE *to);
