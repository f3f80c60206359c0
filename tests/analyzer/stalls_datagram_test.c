/* analyzer/facts/stalls_datagram.c: a rank that waits for a datagram, and for whom. */
#include <signal.h>

#include "analyzer/facts/stalls.h"
#include "tests/analyzer/grams.h"

enum { SECOND = 1000000000 };

/*
 * Both processes are ranks; process 1 has a receive, and process 2 one of @second bytes; 0: none.
 */
static void begin_ranks(struct story *s, uint32_t second)
{
	story_environ = "SLURM_PROCID=3";
	begin_grams(s, QKEY, 0x22, second);
	story_environ = "";
	story_post(s, 0, VERB_post_recv, &ends[0].qp, 2, 0, (struct event_sge){ AT, BYTES, 0x10 });
}

static void polls_in_vain(struct story *s, int end)
{
	s->threads[end].head.polls[0].cq = W(&ends[end].cq);
	s->threads[end].head.polls[0].empty = 900;
}

static const struct stalls *kill_both(struct story *s)
{
	s->now += SECOND;
	story_exit(s, STORY_PID, SIGTERM);
	story_exit(s, PEER, SIGTERM);
	story_check(s, NULL);
	return facts_stalls(s->findings->facts);
}

/* The rank has sent two requests, and got no answer. */
TEST(an_answer_that_does_not_come)
{
	const struct stall_link *link;
	const struct stalls *stalls;
	struct story s;

	begin_ranks(&s, 0);
	send_gram(&s, 0x22, QKEY, 8);
	send_gram(&s, 0x22, QKEY, 8);
	polls_in_vain(&s, 0);
	stalls = kill_both(&s);
	assert_int_equal(stalls->graph.nblames, 1);
	assert_int_equal(stalls->graph.blames[0].nodes[0], 2);
	link = stalls_link_from(stalls, 1, 2);
	assert_non_null(link);
	assert_int_equal(link->why, STALL_DATAGRAM);
	assert_int_equal(link->received, 0);
	story_end(&s);
}

/* The other rank had received two of its datagrams. */
TEST(a_datagram_of_one_that_sent_before)
{
	const struct stall_link *link;
	const struct stalls *stalls;
	struct story s;

	begin_ranks(&s, BYTES);
	send_gram(&s, 0x22, QKEY, 8);
	send_gram(&s, 0x22, QKEY, 8);
	polls_in_vain(&s, 1);
	stalls = kill_both(&s);
	assert_int_equal(stalls->graph.nblames, 1);
	assert_int_equal(stalls->graph.blames[0].nodes[0], 1);
	link = stalls_link_from(stalls, 2, 1);
	assert_non_null(link);
	assert_int_equal(link->why, STALL_DATAGRAM);
	assert_int_equal(link->received, 2);
	story_end(&s);
}

/* A multicast group, or a number without a queue pair, belongs to no process. */
TEST(datagrams_to_nobody_say_nothing)
{
	struct story s;

	begin_ranks(&s, 0);
	send_gram(&s, 0xffffff, QKEY, 8);
	send_gram(&s, 0x99, QKEY, 8);
	polls_in_vain(&s, 0);
	assert_int_equal(kill_both(&s)->graph.nblames, 0);
	story_end(&s);
}
