/* analyzer/model/swapped.c, MKEY-009: ranks 0 and 2 use words of rank 1. */
#include "analyzer/model/swapped.h"
#include "tests/analyzer/job.h"
#include "tests/test.h"

/* How a lock is used. */
struct locking {
	int n;
	int release;      /* opcode */
	bool alone;       /* only rank 0 uses it */
	uint64_t between; /* from the words of rank 0 to those of rank 2 */
	bool elsewhere;   /* what is written is another word */
	bool apart;       /* rank 2 begins when rank 0 has released it for good, */
	bool gone;        /* the same, and rank 0 has no queue pair any more */
};

static void post_word(struct story *s, int r, int side, int opcode, uint64_t addr)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	bool swaps = opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct event_atomic *atomic = (struct event_atomic *)(rdma + 1);
	struct event_sge *sge =
		swaps ? (struct event_sge *)(atomic + 1) : (struct event_sge *)(rdma + 1);

	event->object = W(&job[r].qp[side]);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 1,
				 .opcode = (uint8_t)opcode,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = 1,
				 .parts = WR_RDMA | (swaps ? WR_ATOMIC : 0) };
	*rdma = (struct event_rdma){ .remote_addr = addr, .rkey = 0x11 };
	if (swaps)
		*atomic = (struct event_atomic){ .compare_add = 0, .swap = 1 };
	*sge = (struct event_sge){ AT, 8, 0x10 };
	story_event(s, r, EVENT_POST, (size_t)((char *)(sge + 1) - (char *)event) / 8);
	poll_one(s, r, side, swaps ? IBV_WC_COMP_SWAP : IBV_WC_RDMA_WRITE, 0);
}

static void lock_once(struct story *s, int r, int side, struct locking l, uint64_t addr)
{
	post_word(s, r, side, IBV_WR_ATOMIC_CMP_AND_SWP, addr);
	post_word(s, r, side, l.release, addr + 8 * l.elsewhere);
}

static uint64_t use_lock(struct locking l)
{
	struct story s;
	uint64_t found;
	char times[32];

	begin_job(&s);
	for (int i = 0; i < l.n; i++) {
		lock_once(&s, 0, NEXT, l, 0x7100);
		if (!l.alone && !l.apart)
			lock_once(&s, 2, PREVIOUS, l, 0x7100 + l.between);
	}
	if (l.gone)
		story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&job[0].qp[NEXT]));
	for (int i = 0; l.apart && i < l.n; i++)
		lock_once(&s, 2, PREVIOUS, l, 0x7100 + l.between);
	if (!l.gone)
		story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&job[0].qp[NEXT]));
	story_do(&s, 2, VERB_destroy_qp, 9, 0, W(&job[2].qp[PREVIOUS]));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_009];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_009) {
			snprintf(times, sizeof(times), ": %d times, first at ", 2 * l.n);
			assert_non_null(strstr(s.findings->all[i]->says, times));
			assert_non_null(strstr(s.findings->all[i]->says,
					       "as a lock is released; qp2 uses compare-and-swap"));
		}
	story_end(&s);
	return found;
}

TEST(a_lock_is_released_by_a_write)
{
	const struct locking l = { .n = 2, .release = IBV_WR_RDMA_WRITE };
	struct locking other = l;

	assert_int_equal(use_lock(l), 1);
	other.n = 1;
	assert_int_equal(use_lock(other), 0);
	other = l;
	other.release = IBV_WR_ATOMIC_CMP_AND_SWP;
	assert_int_equal(use_lock(other), 0);
	other = l;
	other.n = 9;
	other.alone = true; /* requests of one queue pair are in order */
	assert_int_equal(use_lock(other), 0);
	other = l;
	other.between = 64;
	assert_int_equal(use_lock(other), 0);
	other = l;
	other.elsewhere = true;
	assert_int_equal(use_lock(other), 0);
}

/* The lock was free each time, but it need not be. */
TEST(a_lock_that_two_use_one_after_the_other)
{
	struct locking l = { .n = 3, .release = IBV_WR_RDMA_WRITE, .apart = true };

	assert_int_equal(use_lock(l), 1);
	l.gone = true; /* as a connection that is replaced */
	assert_int_equal(use_lock(l), 0);
	l.gone = false;
	l.n = 2;
	assert_int_equal(use_lock(l), 0);
}

/* Rank 0 takes the lock; rank 2 tries @tries times to, and then posts @opcode (-1: nothing). */
static char *spin_on_lock(int tries, int opcode)
{
	const struct fact_list *facts;
	struct story s;
	char *said = NULL;

	begin_job(&s);
	post_word(&s, 0, NEXT, IBV_WR_ATOMIC_CMP_AND_SWP, 0x7100);
	for (int i = 0; i < tries; i++) {
		post_word(&s, 2, PREVIOUS, IBV_WR_ATOMIC_CMP_AND_SWP, 0x7100);
		s.now += 3 * MS;
	}
	if (opcode >= 0)
		post_word(&s, 2, PREVIOUS, opcode, 0x7200);
	story_exit(&s, STORY_PID + 2, 1 << 8);
	story_check(&s, NULL);
	facts = &s.findings->facts->list;
	for (size_t i = 0; i < facts->n; i++)
		if (facts->all[i].kind == FACT_EXITED)
			said = strdup(facts->all[i].because ?: "");
	assert_non_null(said);
	story_end(&s);
	return said;
}

TEST(a_process_that_ends_while_it_waits_for_a_lock)
{
	char *said = spin_on_lock(SWAPPED_SPINS, -1);

	assert_non_null(strstr(said,
			       "qp2 posted only compare-and-swaps of the 8 bytes at 0x7100 of "
			       "process 2, 100 for 297.2 ms, as one waits for a lock; the "
			       "last of another queue pair was that of process 1 qp1, 1:"));
	free(said);
	said = spin_on_lock(SWAPPED_SPINS - 1, -1);
	assert_null(strstr(said, "compare-and-swaps"));
	free(said);
	said = spin_on_lock(SWAPPED_SPINS, IBV_WR_RDMA_WRITE);
	assert_null(strstr(said, "compare-and-swaps"));
	free(said);
}
