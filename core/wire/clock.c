/*
 * The clock of a session
 *
 * The time stamp counter is read without a barrier: an event's time may be some instructions off,
 * but events of one thread are never out of order. It is used if the processor reports that it runs
 * at one rate in all states (CPUID 80000007H, EDX bit 8: Intel SDM 3B, 18.17); its rate is measured
 * against CLOCK_MONOTONIC over 10 ms, each end bracketed by two counter reads.
 */
#include "core/wire/clock.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

enum { MEASURE_NS = 10 * 1000 * 1000, SHIFT = 32 };

struct sample {
	uint64_t ticks;
	uint64_t ns;
};

static bool tsc_invariant(void)
{
#ifdef __x86_64__
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#else
	return false;
#endif
}

/*
 * Sample both clocks. Of several attempts the shortest is taken, since an interrupt between the
 * reads makes one longer.
 */
static struct sample take_sample(uint32_t kind)
{
	struct sample best = { 0, 0 };
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t before = clock_ticks(kind);
		uint64_t ns = clock_monotonic();
		uint64_t after = clock_ticks(kind);

		if (after - before < width) {
			width = after - before;
			best = (struct sample){ before + width / 2, ns };
		}
	}
	return best;
}

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static uint64_t measure_mult(struct sample first)
{
	struct timespec pause = { .tv_nsec = MEASURE_NS };
	struct sample last;

	nanosleep(&pause, NULL);
	last = take_sample(CLOCK_KIND_TSC);
	return (uint64_t)(((unsigned __int128)(last.ns - first.ns) << SHIFT) /
			  (last.ticks - first.ticks));
}

void clock_init(struct clock *clock)
{
	struct sample first;

	clock->kind = tsc_invariant() ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC;
	first = take_sample(clock->kind);
	clock->start = first.ticks;
	clock->monotonic = first.ns;
	clock->realtime = realtime_ns();
	clock->shift = SHIFT;
	clock->mult = 1ull << SHIFT;
	if (clock->kind == CLOCK_KIND_TSC)
		clock->mult = measure_mult(first);
}

void clock_init_monotonic(struct clock *clock)
{
	clock->kind = CLOCK_KIND_MONOTONIC;
	clock->start = clock->monotonic = clock_monotonic();
	clock->realtime = realtime_ns();
	clock->shift = SHIFT;
	clock->mult = 1ull << SHIFT;
}

/*
 * Checks that the product in clock_ns() cannot overflow: 63 bits of mult and 65 bits of a
 * difference of ticks fit into 128 bits.
 */
bool clock_is_sound(const struct clock *clock)
{
	return clock->kind <= CLOCK_KIND_TSC && clock->shift < 64 && clock->mult &&
	       clock->mult < 1ull << 62;
}

int64_t clock_ns(const struct clock *clock, uint64_t ticks)
{
	__int128 delta = (__int128)ticks - clock->start;

	return (int64_t)((delta * clock->mult) >> clock->shift);
}
