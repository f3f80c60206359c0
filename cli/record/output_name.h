#pragma once
/*
 * The name of a trace, as -o gives it: "rank%r.db". Not thread-safe.
 */
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { OUTPUT_COMPLAINT = 256 };

/* Does @pattern contain %@letter, such as %p, the pid of the program? */
bool output_name_has(const char *pattern, char letter);

/*
 * Write the name into @name: %h becomes the host's name, %p @pid; %r the rank, %j the job and %n
 * the node (else the host) from the launcher's environment; %% a %. Returns 0, or -EINVAL with
 * @complaint set.
 */
int output_name_make(const char *pattern, pid_t pid, char name[PATH_MAX],
		     char complaint[OUTPUT_COMPLAINT]);
