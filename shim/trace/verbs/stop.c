/*
 * Stopping the program when a verb has failed
 *
 *	claim page->spot -> describe the failure -> wake the recorder -> SIGSTOP to this thread
 *
 * SIGSTOP is sent to the thread itself (tgkill): it takes effect before the system call returns,
 * and stops all other threads of the process. If it were sent to the process, any thread could
 * handle it, and this thread could leave the verb earlier. SIGCONT continues all threads: for the
 * program, only time has passed.
 *
 * The program stops only while its recorder, which reports the stop, is alive.
 */
#include "shim/trace/verbs/stop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/probe.h"
#include "core/wire/session.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/ring/record.h"

enum {
	PAUSE_NS = 1000 * 1000,
	PAUSES = 10 * 1000, /* limit of waiting until the recorder has reported the previous stop */
};

/*
 * The session's page; NULL if the program must not stop here: if a verb inside another one fails,
 * the outer one handles the failure.
 */
static struct session_page *find_page_to_stop(void)
{
	struct session_page *page = recording_session.page;

	if (!page || !page->stop.on || !permit_has(NEED_STOP) || recorder.depth ||
	    recorder.cm_depth || recorder.ours || recorder.vfork ||
	    !session_is_running(&recording_session) || !session_has_collector(page))
		return NULL;
	return page;
}

bool stop_asks_for_flushes(void)
{
	const struct session_page *page = recording_session.page;

	return page && stop_has_status(&page->stop, IBV_WC_WR_FLUSH_ERR);
}

static void sleep_shortly(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };

	syscall(SYS_nanosleep, &pause, NULL); /* nanosleep() would be a cancellation point */
}

static bool claim_spot(struct session_page *page)
{
	for (int i = 0; i < PAUSES && session_is_running(&recording_session); i++) {
		uint32_t state = STOP_FREE;

		/* pairs with the store in report_stopped() */
		if (atomic_compare_exchange_strong(&page->spot.state, &state, STOP_CLAIMED))
			return true;
		if (!page->stop.every)
			return false;
		sleep_shortly();
	}
	return false;
}

static void fill_frames(struct stop_spot *spot, const struct stack *stack)
{
	spot->nframes = stack->nframes < STOP_FRAMES ? stack->nframes : STOP_FRAMES;
	memcpy(spot->frames, stack->frames, spot->nframes * sizeof(*spot->frames));
}

/* Stop the thread. @what: all that is known about the failure. @stack may be NULL. */
static void stop_thread(struct session_page *page, const struct stop_spot *what,
			const struct stack *stack)
{
	struct stop_spot *spot = &page->spot;
	struct stack taken;

	if (!stack) {
		stack_take(&taken);
		stack = &taken;
	}
	if (!claim_spot(page))
		return;
	spot->pid = (int32_t)getpid();
	spot->tid = (int32_t)syscall(SYS_gettid);
	spot->n = what->n;
	spot->verb = what->verb;
	spot->error = what->error;
	spot->status = what->status;
	spot->qp_num = what->qp_num;
	spot->wr_id = what->wr_id;
	fill_frames(spot, stack);
	/* pairs with the load in report_stopped() */
	atomic_store_explicit(&spot->state, STOP_TAKEN, memory_order_release);
	record_wake();
	syscall(SYS_tgkill, spot->pid, spot->tid, SIGSTOP);
}

struct arguments {
	enum verb verb;
	const uint64_t *at;
};

static bool get_argument(const void *call, const struct field_info *field, int64_t *ret_value)
{
	const struct arguments *args = call;

	*ret_value = (int64_t)args->at[field - verb_infos[args->verb].args.fields];
	if (field->size == sizeof(int32_t))
		*ret_value = (int32_t)*ret_value;
	return true;
}

void stop_at_call(enum verb verb, const uint64_t *args, int64_t ret, int error, uint32_t n)
{
	struct session_page *page = find_page_to_stop();
	const struct arguments arguments = { verb, args };
	int saved = errno;

	if (!page)
		return;
	if (verb_infos[verb].fail == FAIL_NONZERO && ret > 0)
		error = (int)ret;
	if (stop_has_verb(&page->stop, verb) ||
	    (page->stop.errors && !probe_is_expected(verb, error, get_argument, &arguments)))
		stop_thread(page, &(struct stop_spot){ .n = n, .verb = verb, .error = error },
			    NULL);
	errno = saved;
}

/*
 * A separate function, so that a failing post that does not stop uses no more of its caller's
 * stack.
 */
static __attribute__((noinline)) void stop_at_failure(struct session_page *page, enum verb verb,
						      int error, uint32_t n)
{
	stop_thread(page, &(struct stop_spot){ .n = n, .verb = verb, .error = error }, NULL);
}

void stop_at_data(enum verb verb, int ret, uint32_t n)
{
	struct session_page *page = find_page_to_stop();
	int saved = errno;

	if (page && (page->stop.errors || stop_has_verb(&page->stop, verb)))
		stop_at_failure(page, verb, ret < 0 ? saved : ret, n);
	errno = saved;
}

/* Must the program stop at this completion? */
static bool wants_completion(const struct session_page *page, enum verb verb,
			     const struct ibv_wc *wc)
{
	bool error = wc->status != IBV_WC_SUCCESS && wc->status != IBV_WC_WR_FLUSH_ERR;

	return (error && (page->stop.errors || stop_has_verb(&page->stop, verb))) ||
	       stop_has_status(&page->stop, wc->status);
}

void stop_at_poll(enum verb verb, int ret, const struct ibv_wc *wc, uint32_t nwc,
		  const struct stack *stack, uint32_t n)
{
	struct session_page *page = find_page_to_stop();
	int saved = errno;

	if (page && ret < 0 && (page->stop.errors || stop_has_verb(&page->stop, verb)))
		stop_thread(page, &(struct stop_spot){ .n = n, .verb = verb, .error = saved },
			    stack);
	for (uint32_t i = 0; page && i < nwc; i++) {
		if (!wants_completion(page, verb, &wc[i]))
			continue;
		stop_thread(page,
			    &(struct stop_spot){ .n = n,
						 .verb = verb,
						 .status = wc[i].status,
						 .qp_num = wc[i].qp_num,
						 .wr_id = wc[i].wr_id },
			    stack);
		break;
	}
	errno = saved;
}
