/*
 * A program that makes children in every way there is, told by its arguments
 * in order. Without a word for it no process calls a verb.
 *
 *	verb      open the first device once, then allocate and free a protection domain
 *	keep      allocate one and never free it
 *	use       free the one that was kept, in a child its parent's
 *	thread    the next word in a thread of its own
 *	fork, clone, _fork, raw
 *	          the next word in a child with a copy of this memory, which then
 *	          ends by _exit(0); raw is the system call
 *	vfork     the next word in a child in this memory, which ends by _exit(0)
 *	vexec     vfork, and the child becomes this program with the word "verb"
 *	spawn, system, popen
 *	          a child that is this program with the word "verb"
 *	missing   posix_spawn of a program that is not there
 *	badexec   execv of a program that is not there
 *	exec      become this program with the rest of the words, by execl
 *	execvp    the same by execvp
 *	quick N, _exit N, exit N, abort, kill
 */
#include "tests/apps/app.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct ibv_context *context;
static struct ibv_pd *kept;
static char *self;

static void act(const char *word);

static void verb(void)
{
	if (!context)
		context = open_first_device();
	MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
}

static void await(pid_t pid)
{
	int status;

	NEED(pid > 0 && waitpid(pid, &status, 0) == pid);
	MUST(status);
}

static int child(void *word)
{
	context = NULL; /* it is its parent's */
	act(word);
	_exit(0);
}

static void *in_thread(void *word)
{
	act(word);
	return NULL;
}

static void copy(const char *how, char *word)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	pid_t pid;

	if (!strcmp(how, "clone"))
		pid = clone(child, stack + sizeof(stack), SIGCHLD, word);
	else
		pid = !strcmp(how, "fork") ? fork() :
		      !strcmp(how, "_fork") ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		child(word);
	await(pid);
}

static void borrow(char *word)
{
	pid_t pid = vfork();

	if (!pid) {
		act(word);
		_exit(0);
	}
	await(pid);
}

static void borrow_and_exec(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl(self, self, "verb", NULL);
		_exit(1);
	}
	await(pid);
}

static void spawn(const char *path)
{
	char *argv[] = { self, (char *)"verb", NULL };
	pid_t pid = 0;
	int err = posix_spawn(&pid, path, NULL, NULL, argv, environ);

	if (!err)
		await(pid);
}

static void shell(bool pipe)
{
	char command[512];
	FILE *file;

	snprintf(command, sizeof(command), "%s verb", self);
	if (!pipe) {
		MUST(system(command));
		return;
	}
	file = NEED(popen(command, "r"));
	MUST(pclose(file));
}

static void act(const char *word)
{
	char *none[] = { (char *)"none", NULL };

	if (!strcmp(word, "verb"))
		verb();
	else if (!strcmp(word, "keep"))
		context = context ? context : open_first_device(), kept = NEED(ibv_alloc_pd(context));
	else if (!strcmp(word, "use"))
		ibv_dealloc_pd(kept);
	else if (!strcmp(word, "vexec"))
		borrow_and_exec();
	else if (!strcmp(word, "spawn"))
		spawn(self);
	else if (!strcmp(word, "missing"))
		spawn("/nothing/there");
	else if (!strcmp(word, "badexec"))
		execv("/nothing/there", none);
	else if (!strcmp(word, "system") || !strcmp(word, "popen"))
		shell(*word == 'p');
	else if (!strcmp(word, "abort"))
		abort();
	else if (!strcmp(word, "kill"))
		raise(SIGKILL);
	else if (strcmp(word, "nothing") != 0)
		exit(2);
}

static bool becomes(char **word)
{
	char *before = word[0];

	word[0] = self;
	if (!strcmp(before, "exec"))
		execl(self, self, word[1], word[1] ? word[2] : NULL, NULL);
	if (!strcmp(before, "execvp"))
		execvp(self, word);
	word[0] = before;
	return false;
}

static bool ends(const char *word, int status)
{
	if (!strcmp(word, "exit"))
		exit(status);
	if (!strcmp(word, "_exit"))
		_exit(status);
	if (!strcmp(word, "quick"))
		quick_exit(status);
	return false;
}

/* Returns how many words it took. */
static int take(char **word)
{
	static const char *const copies[] = { "fork", "clone", "_fork", "raw", NULL };
	pthread_t thread;

	if (word[1] && (ends(word[0], atoi(word[1])) || becomes(word)))
		return 2;
	for (int i = 0; copies[i]; i++)
		if (word[1] && !strcmp(*word, copies[i]))
			return copy(*word, word[1]), 2;
	if (word[1] && !strcmp(*word, "vfork"))
		return borrow(word[1]), 2;
	if (word[1] && !strcmp(*word, "thread")) {
		MUST(pthread_create(&thread, NULL, in_thread, word[1]));
		pthread_join(thread, NULL);
		return 2;
	}
	act(*word);
	return 1;
}

int main(int argc, char **argv)
{
	static char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	NEED(n > 0);
	path[n] = '\0';
	self = path;
	for (int i = 1; i < argc;)
		i += take(argv + i);
	return 0;
}
