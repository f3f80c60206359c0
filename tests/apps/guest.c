/*
 * A program to be recorded in unusual situations, given by its arguments in order:
 *
 * 	calls N   allocate and free a protection domain N times
 * 	until     the same until SIGTERM or SIGINT comes; then until no more have
 * 	          come for 0.2 seconds; prints how many came
 * 	deaf      ignore SIGTERM and SIGINT from here on
 * 	say TEXT  print it
 * 	read FILE wait for a byte of this FIFO, or its end
 * 	child     continue in a child, which waits until its parent has ended
 * 	kill N    kill itself with signal N
 * 	exit N    end with status N
 */
#include "tests/apps/app.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static struct ibv_context *context;

static void note_signal(int signal)
{
	(void)signal;
	signals++;
}

static void call_verbs(long n)
{
	if (!context)
		context = open_first_device();
	for (; n > 0; n--)
		MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
}

static void call_until_signal(void)
{
	signal(SIGTERM, note_signal);
	signal(SIGINT, note_signal);
	alarm(20);     /* ends a forgotten process */
	call_verbs(1); /* the parent expects events of us */
	printf("ready\n");
	fflush(stdout);
	while (!signals) {
		call_verbs(1);
		usleep(500);
	}
	while (poll(NULL, 0, 200) < 0)
		;
	printf("signals %d\n", (int)signals);
	fflush(stdout);
}

static void wait_for_byte(const char *fifo)
{
	char byte;
	int fd = open(fifo, O_RDONLY);

	while (read(fd, &byte, 1) < 0)
		;
	close(fd);
}

static void go_on_in_child(void)
{
	int fds[2];
	char byte;

	MUST(pipe(fds));
	fflush(stdout);
	if (fork()) {
		_exit(0);
	}
	close(fds[1]);
	MUST(read(fds[0], &byte, 1)); /* ends with the parent */
	context = NULL;
}

static int take_word(char **word)
{
	if (!strcmp(*word, "until"))
		call_until_signal();
	else if (!strcmp(*word, "deaf"))
		signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN);
	else if (!strcmp(*word, "child"))
		go_on_in_child();
	else if (!word[1])
		exit(2);
	else if (!strcmp(*word, "calls"))
		return call_verbs(atol(word[1])), 2;
	else if (!strcmp(*word, "say"))
		return printf("%s\n", word[1]), fflush(stdout), 2;
	else if (!strcmp(*word, "read"))
		return wait_for_byte(word[1]), 2;
	else if (!strcmp(*word, "kill"))
		return raise(atoi(word[1])), 2;
	else if (!strcmp(*word, "exit"))
		exit(atoi(word[1]));
	else
		exit(2);
	return 1;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc;)
		i += take_word(argv + i);
	return 0;
}
