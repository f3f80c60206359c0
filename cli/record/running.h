#pragma once
/*
 * Recording a program that runs already. Not thread-safe.
 */
#include <stdint.h>
#include <sys/types.h>

/* A program that runs already: the recorder is brought into it, and taken out again. */
struct recording_running {
	pid_t pid;
	int64_t duration; /* ns; 0: until a signal */
	/*
	 * Let the process join the session @dir; let it leave the session. Both call @idle(@of)
	 * while they take long. 0 or -errno after log_err().
	 */
	int (*begin)(void *arg, const char *dir, void (*idle)(void *of), void *of);
	int (*end)(void *arg, void (*idle)(void *of), void *of);
	void *arg;
};
