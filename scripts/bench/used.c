/*
 * The processor time and the peak memory of a program
 *
 *	used PROGRAM ARGUMENT...	prints: cpu SECONDS
 *						memory MB
 *
 * A new program inherits the peak of the one that it is started from, and Python has 18 MB.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (!pid) {
		if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
			execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 1;
	printf("cpu %.6f\nmemory %.3f\n", seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
	       (double)usage.ru_maxrss / 1024);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
