/*
 * How a recorded program experiences SIGBUS.
 *
 * 	bus asks	sigaction() and signal() return what the program has set
 * 	bus handles	its own handler gets the signal
 * 	bus faults	after the end of a file of its own: the system's default
 * 	bus sends	to itself: the same
 */
#include "tests/apps/app.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int handled;
static void *volatile handled_at;

static void on_bus(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	handled = info->si_code;
	handled_at = info->si_addr;
	mmap(info->si_addr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	     -1, 0);
}

/* A page after the end of its file. */
static volatile char *map_nothing(void)
{
	char path[] = "/tmp/bus-XXXXXX";
	int fd = mkstemp(path);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	unlink(path);
	MUST(at == MAP_FAILED);
	return at;
}

static void expect_default_action(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL }, old;

	MUST(sigaction(SIGBUS, NULL, &old));
	MUST(old.sa_handler != SIG_DFL || old.sa_flags);
	MUST(signal(SIGBUS, SIG_DFL) != SIG_DFL);
	MUST(sigaction(SIGBUS, &action, &old));
	MUST(old.sa_handler != SIG_DFL);
	MUST(signal(SIGBUS, SIG_IGN) != SIG_DFL);
	MUST(signal(SIGBUS, SIG_DFL) != SIG_IGN);
	MUST(signal(SIGBUS, SIG_DFL) != SIG_DFL);
	MUST(raise(0));
}

static void handle_bus(void)
{
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO }, old;
	volatile char *at = map_nothing();

	MUST(sigaction(SIGBUS, &action, &old));
	MUST(old.sa_handler != SIG_DFL);
	*at = 1;
	MUST(handled != BUS_ADRERR || handled_at != at || *at != 1);
	MUST(sigaction(SIGBUS, NULL, &old));
	MUST(old.sa_sigaction != on_bus);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	ibv_close_device(open_first_device());
	if (!strcmp(what, "asks"))
		expect_default_action();
	else if (!strcmp(what, "handles"))
		handle_bus();
	else if (!strcmp(what, "faults"))
		*map_nothing() = 1;
	else
		raise(SIGBUS);
	return 0;
}
