#pragma once
/*
 * The clock of a session: ticks in events, nanoseconds in the trace.
 *
 * The time stamp counter if the processor's is invariant, else CLOCK_MONOTONIC. Any thread, any
 * process of one machine.
 */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum clock_kind { CLOCK_KIND_MONOTONIC, CLOCK_KIND_TSC };

struct clock {
	uint32_t kind; /* enum clock_kind */
	uint32_t shift;
	uint64_t mult;      /* ns = (ticks - start) * mult >> shift */
	uint64_t start;     /* ticks at the session's start */
	uint64_t realtime;  /* ns since 1970 at the session's start */
	uint64_t monotonic; /* CLOCK_MONOTONIC, ns, at the session's start */
};

/*
 * Choose the kind of clock, and measure its rate against CLOCK_MONOTONIC; takes 10 ms with the TSC.
 */
void clock_init(struct clock *clock);

/* Choose CLOCK_MONOTONIC: nothing has to be measured. */
void clock_init_monotonic(struct clock *clock);

/* Are the values of @clock, which another process may have written, usable for clock_ns()? */
bool clock_is_sound(const struct clock *clock);

/* Nanoseconds since the session's start; negative before it. */
int64_t clock_ns(const struct clock *clock, uint64_t ticks);

/* The same in CLOCK_MONOTONIC, which is the same for all sessions of a machine. */
static inline uint64_t clock_absolute(const struct clock *clock, uint64_t ticks)
{
	return clock->monotonic + (uint64_t)clock_ns(clock, ticks);
}

static inline uint64_t clock_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_ticks(uint32_t kind)
{
#ifdef __x86_64__
	if (__builtin_expect(kind == CLOCK_KIND_TSC, 1))
		return __builtin_ia32_rdtsc();
#endif
	(void)kind;
	return clock_monotonic();
}
