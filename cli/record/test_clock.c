/*
 * A clock that is wrong on purpose, to test the code that reads it
 *
 * Programs write ticks, which the recorder converts to nanoseconds: a wrong rate of conversion acts
 * like an inaccurate crystal.
 */
#include "cli/record/test_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/wire/log.h"
#include "core/wire/session.h"

#define PPM_MAX 1000

int test_clock_set(struct session *session)
{
	const char *text = getenv("VERBATIM_TEST_CLOCK");
	struct clock *clock = &session->clock;
	double seconds, ppm;
	char more;

	if (!text)
		return 0;
	if (sscanf(text, "%lf %lf%c", &seconds, &ppm, &more) != 2 || ppm < -PPM_MAX ||
	    ppm > PPM_MAX || seconds < -1e9 || seconds > 1e9)
		return log_why(-EINVAL, "VERBATIM_TEST_CLOCK is '%s', not seconds and ppm", text);
	clock->realtime += (uint64_t)(int64_t)(seconds * 1e9);
	clock->mult += (uint64_t)(int64_t)((double)clock->mult * ppm / 1e6);
	session->page->clock = *clock;
	log_note("for a test, this recording's clock is %s s ahead and ppm fast", text);
	return 0;
}
