/*
 * A heartbeat every few milliseconds, by a timer.
 *
 * Bad: the handler of the signal posts it, perhaps in the middle of a verb of the same thread.
 * GOOD: the handler sets a flag, and the loop posts.
 */
#include "rep.h"
#include <sys/time.h>

enum { BEATS = 8 };
static struct end e;
static volatile sig_atomic_t due, beats;

static void beat(void)
{
	beats++;
	need(!send_post(&e, 7, 64, 8, IBV_SEND_SIGNALED));
}

static void on_timer(int signal)
{
	(void)signal;
#ifdef GOOD
	due = 1;
#else
	if (beats < BEATS)
		beat();
#endif
}

static void send_beats(void)
{
	struct itimerval every = { { 0, 5000 }, { 0, 5000 } }, never = { { 0 } };
	struct ibv_wc wc;
	int done = 0;

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &every, NULL);
	while (done < BEATS) {
		if (due && beats < BEATS)
			beat();
		due = 0;
		done += ibv_poll_cq(e.scq, 1, &wc) == 1;
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;

	two_ends(&e);
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; e.server && i < BEATS; i++)
		need(!recv_post(&e, i, i * 64, 64));
	end_sync(&e);
	if (!e.server)
		send_beats();
	for (int i = 0; e.server && i < BEATS; i++)
		need(wait_wc(e.rcq, &wc, 5000) && !wc.status);
	end_sync(&e);
	return end_close(&e, 0);
}
