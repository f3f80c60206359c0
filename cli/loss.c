/*
 * What a trace does not hold: said wherever one is read
 */
#include <inttypes.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "core/store/trace.h"
#include "core/wire/log.h"

void cli_tell_loss(struct trace *trace)
{
	struct trace_loss loss = trace_loss(trace);
	char lost[FORMAT_TEXT];

	if (loss.interrupted)
		log_note("the recording was INTERRUPTED: what came after is not in the trace");
	if (loss.damaged)
		log_note("the trace is DAMAGED: some of it could not be read");
	if (loss.events)
		log_note("%s events were LOST: the rings were full",
			 format_count(loss.events, lost));
}
