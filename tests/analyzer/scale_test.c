/*
 * What a sample of one in N shows about all
 */
#include "analyzer/profile/scale.h"

#include <string.h>

#include "tests/test.h"

enum { N = 8 };

/* Each member is a number of its own, all of the sample's below 100. */
static struct profile_posts posts_of(uint64_t times)
{
	struct profile_posts posts = {
		.posts = 1 * times,
		.refused = 2 * times,
		.requests = 3 * times,
		.bytes = 4 * times,
		.judged = 5 * times,
		.signalled = 6 * times,
		.small = 7 * times,
		.small_inline = 8 * times,
		.inlined = 9 * times,
	};

	return posts;
}

static struct profile_side side_of(uint64_t times)
{
	return (struct profile_side){
		.posts = 11 * times,
		.requests = 12 * times,
		.refused = 13 * times,
		.completions = 14 * times,
		.bytes = 15 * times,
		.judged = 16 * times,
		.signalled = 17 * times,
		.small = 18 * times,
		.small_inline = 19 * times,
		.high = 20,
		.capacity = 21,
		.asked = 22,
	};
}

static struct profile_place place_of(enum verb verb, uint64_t requests, uint64_t times)
{
	return (struct profile_place){
		.verb = verb,
		.calls = 31 * times,
		.errors = 32 * times,
		.bytes = 33 * times,
		.posts = 34 * times,
		.requests = requests * times,
		.judged = 36 * times,
		.signalled = 37 * times,
		.small = 38 * times,
		.small_inline = 39 * times,
		.inlined = 40 * times,
		.longest = 41,
	};
}

/* A profile with one element of each kind. */
struct parts {
	struct profile profile;
	struct profile_requests requests;
	struct profile_place places[3];
	struct profile_process process;
	struct profile_thread thread;
	struct profile_queue queue, *queues[2];
	struct profile_cq cq, *cqs[2];
};

static void fill_parts(struct parts *p, uint32_t one_of, uint64_t times)
{
	uint64_t good = 90 * times;

	memset(p, 0, sizeof(*p));
	p->requests = (struct profile_requests){ .posted = 51 * times,
						 .completed = 52 * times,
						 .bytes = 53 * times,
						 .inlined = 54 * times,
						 .least = 55,
						 .most = 56 };
	p->places[0] = place_of(VERB_post_send, 35, times);
	p->places[1] = place_of(VERB_reg_mr, 0, 1);
	p->places[2] = place_of(VERB_post_send, 0, times);
	p->process = (struct profile_process){ .posts = 61 * times,
					       .requests = 62 * times,
					       .polls = 63 * times,
					       .sent = 64 * times,
					       .received = 65 * times,
					       .completions = good + 7,
					       .errors = 7,
					       .calls = 66,
					       .empty = 67 };
	p->thread = (struct profile_thread){ .posts = 71 * times,
					     .requests = 72 * times,
					     .polls = 73 * times,
					     .completions = 74 * times,
					     .calls = 75,
					     .empty = 76 };
	p->queue = (struct profile_queue){ .send = side_of(times),
					   .receive = side_of(times),
					   .sent = 81 * times,
					   .received = 82 * times,
					   .errors = 83 };
	p->cq = (struct profile_cq){
		.polls = 84 * times, .completions = 85 * times, .empty = 86, .high = 87
	};
	p->queues[1] = &p->queue;
	p->cqs[0] = &p->cq;
	p->profile = (struct profile){
		.one_of = one_of,
		.send = posts_of(times),
		.receive = posts_of(times),
		.requests = { [1] = { [2] = &p->requests } },
		.completions = good + 5,
		.errors = 5,
		.lengthless = 91 * times,
		.unmatched = 92 * times,
		.sent = 93 * times,
		.received = 94 * times,
		.polls = 95 * times,
		.empty = 96,
		.failed_polls = 97,
		.registered = 98,
		.places = p->places,
		.nplaces = 3,
		.processes = &p->process,
		.nprocesses = 1,
		.threads = &p->thread,
		.nthreads = 1,
		.queues = p->queues,
		.cqs = p->cqs,
		.nobjects = 2,
	};
}

/* Both profiles have pointers to parts of themselves. */
static void expect_equal(const struct parts *a, const struct parts *b)
{
	struct profile whole = a->profile;

	assert_memory_equal(&a->requests, &b->requests, sizeof(a->requests));
	assert_memory_equal(a->places, b->places, sizeof(a->places));
	assert_memory_equal(&a->process, &b->process, sizeof(a->process));
	assert_memory_equal(&a->thread, &b->thread, sizeof(a->thread));
	assert_memory_equal(&a->queue, &b->queue, sizeof(a->queue));
	assert_memory_equal(&a->cq, &b->cq, sizeof(a->cq));
	memcpy(whole.requests, b->profile.requests, sizeof(whole.requests));
	whole.places = b->profile.places;
	whole.processes = b->profile.processes;
	whole.threads = b->profile.threads;
	whole.queues = b->profile.queues;
	whole.cqs = b->profile.cqs;
	assert_memory_equal(&whole, &b->profile, sizeof(whole));
}

static void expect_scaled(uint32_t one_of, uint64_t times)
{
	struct parts got, wanted;

	fill_parts(&got, one_of, 1);
	fill_parts(&wanted, one_of, times);
	scale_profile(&got.profile);
	expect_equal(&got, &wanted);
}

TEST(what_is_the_samples_is_multiplied_and_the_rest_is_not)
{
	expect_scaled(N, N);
	expect_scaled(2, 2);
}

TEST(a_profile_of_all_stays)
{
	expect_scaled(0, 1);
	expect_scaled(1, 1);
}

/* In a sample of one post in N, gaps and distances between two posts include other posts. */
TEST(gaps_of_a_sample_are_dropped)
{
	struct parts parts;

	fill_parts(&parts, N, 1);
	histogram_add(&parts.profile.send.gap, 100);
	histogram_add(&parts.profile.send.distance, 1);
	histogram_add(&parts.profile.send.list, 1);
	histogram_add(&parts.places[0].gap, 100);
	scale_profile(&parts.profile);
	assert_int_equal(parts.profile.send.gap.count, 0);
	assert_int_equal(parts.profile.send.distance.count, 0);
	assert_int_equal(parts.places[0].gap.count, 0);
	assert_int_equal(parts.profile.send.list.count, 1);
	histogram_fini(&parts.profile.send.list);
}
