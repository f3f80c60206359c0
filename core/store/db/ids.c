/*
 * Names of events and objects
 */
#include "core/store/db/ids.h"

#include <inttypes.h>
#include <stdio.h>

const char *event_id_text(struct event_id id, char text[32])
{
	if (id.thread)
		snprintf(text, 32, "%u:%" PRIu64, id.thread, id.n);
	else
		snprintf(text, 32, "-");
	return text;
}
