#pragma once
/*
 * The output of a program about the verbs that it calls, for a test to compare with the trace:
 *
 * 	VERB SOURCE K I FIELD VALUE
 *
 * the K-th event of SOURCE (the verb itself, or the one in whose event it is recorded) has VALUE in
 * FIELD: args.X or out.X of a call, ret, or a column of tables post, wr, sge (request I), wc
 * (completion I) or notify.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct {
	const char *verb;
	unsigned int n;
} counts[256];

/* The number of @verb's next event. */
static inline unsigned int next_of(const char *verb)
{
	int i = 0;

	while (counts[i].verb && strcmp(counts[i].verb, verb))
		i++;
	counts[i].verb = verb;
	return ++counts[i].n;
}

static const char *called;
static unsigned int nth;

static inline void say_value(const char *verb, const char *source, unsigned int k, unsigned int i,
			     const char *field, int64_t value)
{
	printf("%s %s %u %u %s %" PRId64 "\n", verb, source, k, i, field, value);
}

/* The verb is called; ARG(), OUT() and HAS() print values of this call. */
static inline void say_call(const char *verb)
{
	called = verb;
	nth = next_of(verb);
	printf("%s %s %u 0 - 0\n", verb, verb, nth);
}

/* On stderr: errno after the verb, and whether it changed. */
static inline void say_errno(int *before)
{
	int after = errno;

	fprintf(stderr, "%s %u errno %d of %d\n", called, nth, after, *before);
}

#define DO(verb, what)                                                                         \
	({                                                                                     \
		say_call(#verb);                                                               \
		int errno_before __attribute__((cleanup(say_errno), unused)) = (errno = EDOM); \
		what;                                                                          \
	})
#define ARG(field, value)  say_value(called, called, nth, 0, "args." field, (int64_t)(value))
#define OUT(field, value)  say_value(called, called, nth, 0, "out." field, (int64_t)(value))
#define HAS(field, value)  say_value(called, called, nth, 0, field, (int64_t)(value))
#define RET(value)         HAS("ret", value)
#define TEXT(field, value) printf("%s %s %u 0 args.%s %s\n", called, called, nth, field, value)
/* of another verb's event */
#define PART(verb, source, i, field, value) \
	say_value(#verb, #source, next_part(#source), i, field, (int64_t)(value))

/* The event of @source that is being built, or was the last. */
static unsigned int part;

static inline unsigned int next_part(const char *source)
{
	(void)source;
	return part;
}
