/*
 * The name of a trace, as given by -o
 */
#include "cli/record/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/wire/launcher.h"

/* The values of the letters after %; "": not known. */
struct values {
	struct utsname host;
	char pid[16], rank[16], job[RANK_WORD], node[RANK_WORD];
};

static const char *get_variable(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static void make_part_of_name(char *word)
{
	for (char *at = word; (at = strchr(at, '/'));)
		*at = '-';
}

static void find_values(pid_t pid, struct values *values)
{
	struct rank rank;

	*values = (struct values){ 0 };
	uname(&values->host);
	launcher_find_rank(get_variable, NULL, &rank);
	snprintf(values->pid, sizeof(values->pid), "%d", (int)pid);
	if (rank.rank >= 0)
		snprintf(values->rank, sizeof(values->rank), "%d", rank.rank);
	strcpy(values->job, rank.job);
	strcpy(values->node, rank.node);
	make_part_of_name(values->job);
	make_part_of_name(values->node);
}

bool output_name_has(const char *pattern, char letter)
{
	for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
		if (at[1] == letter)
			return true;
	return false;
}

/* @value; or NULL, with @complaint filled, if there is none. */
static const char *need_value(const char *value, const char *complaint_if_none,
			      char complaint[OUTPUT_COMPLAINT])
{
	if (*value)
		return value;
	snprintf(complaint, OUTPUT_COMPLAINT, "%s", complaint_if_none);
	return NULL;
}

/* The value of @letter: NULL if there is none, with @complaint filled. */
static const char *find_value(char letter, const struct values *values,
			      char complaint[OUTPUT_COMPLAINT])
{
	switch (letter) {
	case '%':
		return "%";
	case 'h':
		return values->host.nodename;
	case 'j':
		return need_value(values->job,
				  "%j in --output is the job, but no launcher has set its variable "
				  "(SLURM_JOB_ID, PMIX_NAMESPACE, PBS_JOBID, ...)",
				  complaint);
	case 'n':
		return *values->node ? values->node : values->host.nodename;
	case 'p':
		return values->pid;
	case 'r':
		return need_value(values->rank,
				  "%r in --output is the rank, but no launcher has set its "
				  "variable (PMIX_RANK, SLURM_PROCID, RANK, ...)",
				  complaint);
	default:
		snprintf(complaint, OUTPUT_COMPLAINT,
			 letter ? "--output has the unknown '%%%c': use %%h (host), %%j (job), "
				  "%%n (node), %%p (PID), %%r (rank) or %%%% (a %%)"
				: "--output ends with a '%%': write %%%% for a %%",
			 letter);
		return NULL;
	}
}

int output_name_make(const char *pattern, pid_t pid, char name[PATH_MAX],
		     char complaint[OUTPUT_COMPLAINT])
{
	struct values values;
	size_t used = 0;

	find_values(pid, &values);
	for (const char *at = pattern; *at; at++) {
		char self[2] = { *at, '\0' };
		const char *value = self;

		if (*at == '%') {
			value = find_value(*++at, &values, complaint);
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
