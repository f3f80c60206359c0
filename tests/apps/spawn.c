/*
 * A program that makes children in every possible way, given by its arguments in order. Without a
 * word for it no process calls a verb.
 *
 * 	verb      open the first device once, then allocate and free a protection domain
 * 	keep      allocate one and never free it
 * 	use       free the one that was kept, in a child its parent's
 * 	thread    the next word in a thread of its own
 * 	fork, clone, _fork, raw
 * 	          the next word in a child with a copy of this memory, which then
 * 	          ends by _exit(0); raw is the system call
 * 	vfork     the next word in a child in this memory, which ends by _exit(0)
 * 	vexec     vfork, and the child becomes this program with the word "verb"
 * 	spawn, system, popen
 * 	          a child that is this program with the word "verb"
 * 	missing   posix_spawn of a program that is not there
 * 	badexec   execv of a program that is not there
 * 	exec      become this program with the rest of the words, by execl
 * 	execvp    the same by execvp
 * 	quick N, _exit N, exit N, abort, kill
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

static void act_word(const char *word);

static void call_verb(void)
{
	if (!context)
		context = open_first_device();
	MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
}

static void await_child(pid_t pid)
{
	int status;

	NEED(pid > 0 && waitpid(pid, &status, 0) == pid);
	MUST(status);
}

static int run_child(void *word)
{
	context = NULL; /* it is its parent's */
	act_word(word);
	_exit(0);
}

static void *in_thread(void *word)
{
	act_word(word);
	return NULL;
}

static void fork_child(const char *how, char *word)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	pid_t pid;

	if (!strcmp(how, "clone"))
		pid = clone(run_child, stack + sizeof(stack), SIGCHLD, word);
	else
		pid = !strcmp(how, "fork")    ? fork()
		      : !strcmp(how, "_fork") ? _Fork()
					      : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		run_child(word);
	await_child(pid);
}

static void vfork_child(char *word)
{
	pid_t pid = vfork();

	if (!pid) {
		act_word(word);
		_exit(0);
	}
	await_child(pid);
}

static void borrow_and_exec(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl(self, self, "verb", NULL);
		_exit(1);
	}
	await_child(pid);
}

static void spawn_program(const char *path)
{
	char *argv[] = { self, (char *)"verb", NULL };
	pid_t pid = 0;
	int err = posix_spawn(&pid, path, NULL, NULL, argv, environ);

	if (!err)
		await_child(pid);
}

static void run_shell(bool pipe)
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

static void act_word(const char *word)
{
	char *none[] = { (char *)"none", NULL };

	if (!strcmp(word, "verb"))
		call_verb();
	else if (!strcmp(word, "keep"))
		context = context ? context : open_first_device(),
		kept = NEED(ibv_alloc_pd(context));
	else if (!strcmp(word, "use"))
		ibv_dealloc_pd(kept);
	else if (!strcmp(word, "vexec"))
		borrow_and_exec();
	else if (!strcmp(word, "spawn"))
		spawn_program(self);
	else if (!strcmp(word, "missing"))
		spawn_program("/nothing/there");
	else if (!strcmp(word, "badexec"))
		execv("/nothing/there", none);
	else if (!strcmp(word, "system") || !strcmp(word, "popen"))
		run_shell(*word == 'p');
	else if (!strcmp(word, "abort"))
		abort();
	else if (!strcmp(word, "kill"))
		raise(SIGKILL);
	else if (strcmp(word, "nothing") != 0)
		exit(2);
}

static bool exec_word(char **word)
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

static bool exit_word(const char *word, int status)
{
	if (!strcmp(word, "exit"))
		exit(status);
	if (!strcmp(word, "_exit"))
		_exit(status);
	if (!strcmp(word, "quick"))
		quick_exit(status);
	return false;
}

/* Returns how many words it used. */
static int take_word(char **word)
{
	static const char *const copies[] = { "fork", "clone", "_fork", "raw", NULL };
	pthread_t thread;

	if (word[1] && (exit_word(word[0], atoi(word[1])) || exec_word(word)))
		return 2;
	for (int i = 0; copies[i]; i++)
		if (word[1] && !strcmp(*word, copies[i]))
			return fork_child(*word, word[1]), 2;
	if (word[1] && !strcmp(*word, "vfork"))
		return vfork_child(word[1]), 2;
	if (word[1] && !strcmp(*word, "thread")) {
		MUST(pthread_create(&thread, NULL, in_thread, word[1]));
		pthread_join(thread, NULL);
		return 2;
	}
	act_word(*word);
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
		i += take_word(argv + i);
	return 0;
}
