/*
 * The name of a trace, as given by -o
 */
#include "cli/record/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/*
 * Variables of PMIx, Open MPI and Slurm whose ranks count from 0 in the whole job. The first one
 * that is set is used.
 */
static const char *const ranks[] = { "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID" };

static const char *find_rank(void)
{
	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		const char *rank = getenv(ranks[i]);

		if (rank && *rank && strlen(rank) < 12 &&
		    strspn(rank, "0123456789") == strlen(rank))
			return rank;
	}
	return NULL;
}

bool output_name_has_pid(const char *pattern)
{
	for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
		if (at[1] == 'p')
			return true;
	return false;
}

/* The value of @letter: NULL if there is none, with @complaint filled. */
static const char *find_value(char letter, const char *pid, const struct utsname *host,
			      char complaint[OUTPUT_COMPLAINT])
{
	const char *rank;

	switch (letter) {
	case '%':
		return "%";
	case 'h':
		return host->nodename;
	case 'p':
		return pid;
	case 'r':
		rank = find_rank();
		if (!rank)
			snprintf(complaint, OUTPUT_COMPLAINT,
				 "%%r in --output is the rank, but PMIX_RANK, "
				 "OMPI_COMM_WORLD_RANK and SLURM_PROCID are not set");
		return rank;
	default:
		snprintf(complaint, OUTPUT_COMPLAINT,
			 letter ? "--output has the unknown '%%%c': use %%h (host), %%p (PID), "
				  "%%r (rank) or %%%% (a %%)"
				: "--output ends with a '%%': write %%%% for a %%",
			 letter);
		return NULL;
	}
}

int output_name_make(const char *pattern, pid_t pid, char name[PATH_MAX],
		     char complaint[OUTPUT_COMPLAINT])
{
	struct utsname host = { 0 };
	char number[16];
	size_t used = 0;

	uname(&host);
	snprintf(number, sizeof(number), "%d", (int)pid);
	for (const char *at = pattern; *at; at++) {
		char self[2] = { *at, '\0' };
		const char *value = self;

		if (*at == '%') {
			value = find_value(*++at, number, &host, complaint);
			if (!value)
				return -EINVAL;
		}
		if (used + strlen(value) >= PATH_MAX) {
			snprintf(complaint, OUTPUT_COMPLAINT,
				 "--output results in too long a "
				 "name");
			return -EINVAL;
		}
		strcpy(name + used, value);
		used += strlen(value);
	}
	name[used] = '\0';
	return 0;
}
