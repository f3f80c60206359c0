/*
 * verbatim doctor -- PROGRAM: can it be recorded?
 *
 * The program is read, never run. A script is followed to its interpreter; the libraries that it
 * needs are followed recursively, to find whether one of them calls verbs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/doctor/elf.h"
#include "cli/record/launch.h"
#include "cli/suggest.h"

enum { SCRIPTS = 4, LIBRARIES = 512 };

/* The interpreter that a script's first line names; false if @path is not a script. */
static bool find_interpreter(const char *path, char found[PATH_MAX])
{
	char line[256] = "", *at, *word;
	FILE *file = fopen(path, "re");

	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	if (strncmp(line, "#!", 2))
		return false;
	word = strtok_r(line + 2, " \t\n", &at);
	if (word && strlen(word) >= 4 && !strcmp(word + strlen(word) - 4, "/env"))
		do
			word = strtok_r(NULL, " \t\n", &at);
		while (word && (*word == '-' || strchr(word, '='))); /* env -S, env A=B */
	return word && !launch_find(word, found);
}

void doctor_find_program(struct doctor *doctor)
{
	char next[PATH_MAX];
	struct suggestion near = { .word = NULL };
	int err = launch_find(doctor->program, doctor->image);

	if (err) {
		doctor->image[0] = '\0';
		if (err == -ENOENT && *doctor->program)
			suggest_program(&near, doctor->program);
		doctor_report(doctor, DOCTOR_PROBLEM,
			      err == -ENOENT ? "give its path; is its folder in PATH?"
					     : "'chmod +x' it, or name a file instead of a folder",
			      "'%s' cannot be started: %s%s", doctor->program, strerror(-err),
			      *near.name ? suggest_text(&near) : "");
		return;
	}
	doctor_report(doctor, DOCTOR_OK, NULL, "%s", doctor->image);
	for (int i = 0; i < SCRIPTS && find_interpreter(doctor->image, next); i++) {
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "a script: its interpreter %s is checked, not the programs that it "
			      "starts",
			      next);
		memcpy(doctor->image, next, sizeof(next));
	}
}

/* Report why our loader rejects a file: 32 bit, another machine, or no program. */
static void report_format(struct doctor *doctor, int err)
{
	unsigned char head[5] = { 0 };
	FILE *file = fopen(doctor->image, "re");
	size_t n = file ? fread(head, 1, sizeof(head), file) : 0;

	if (file)
		fclose(file);
	if (n < sizeof(head) || memcmp(head, "\177ELF", 4))
		doctor_report(doctor, DOCTOR_NOTE, "give the program that it starts",
			      "%s is neither an ELF file nor a script: %s", doctor->image,
			      strerror(-err));
	else
		doctor_report(doctor, DOCTOR_PROBLEM, "record a 64-bit build for this machine",
			      "%s is %s: libverbatim.so cannot be loaded into it", doctor->image,
			      head[4] == 1 ? "a 32-bit program"
					   : "damaged, or for another processor");
}

void doctor_check_format(struct doctor *doctor)
{
	struct elf elf;
	int err = *doctor->image ? elf_open(doctor->image, &elf) : -ENOENT;

	if (err) {
		if (*doctor->image)
			report_format(doctor, err);
		doctor->image[0] = '\0';
		return;
	}
	if (!elf.interp)
		doctor_report(doctor, DOCTOR_PROBLEM,
			      "link it dynamically (at least libibverbs and libc)",
			      "it is statically linked: the recorder cannot be preloaded");
	else if (strstr(elf.interp, "musl"))
		doctor_report(doctor, DOCTOR_PROBLEM, "record a build for glibc",
			      "it is for musl (%s); libverbatim.so is for glibc", elf.interp);
	else if (access(elf.interp, X_OK))
		doctor_report(doctor, DOCTOR_PROBLEM, "install the loader",
			      "its loader %s is missing", elf.interp);
	else
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "64 bit, dynamic: libverbatim.so can be loaded into it");
	elf_close(&elf);
}

/* ld.so(8), "secure-execution mode": the identity changes, or capabilities come from the file */
void doctor_check_secure(struct doctor *doctor)
{
	const char *how = NULL;
	struct stat st;

	if (!*doctor->image || stat(doctor->image, &st))
		return;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		how = "set-user-ID";
	else if ((st.st_mode & S_ISGID) && st.st_gid != getgid())
		how = "set-group-ID";
	else if (getuid() && getxattr(doctor->image, "security.capability", NULL, 0) > 0)
		how = "given capabilities by its file";
	if (how)
		doctor_report(
			doctor, DOCTOR_PROBLEM,
			"record a copy without them ('cp' drops them), started with the rights "
			"that it needs",
			"it is %s: the loader ignores LD_PRELOAD", how);
	else
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "its file is not set-user-ID or set-group-ID, and has no "
			      "capabilities");
}

/* The program and all libraries that it needs, directly or not, each once. */
struct closure {
	struct elf files[LIBRARIES];
	unsigned int n;
};

static const char *base_name(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

static bool has_library(const struct closure *c, const char *name)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (!strcmp(base_name(c->files[i].path), name))
			return true;
	return false;
}

static void follow_needed(struct closure *c, const struct elf *elf)
{
	char path[PATH_MAX];
	const char *name;

	for (unsigned int i = 0; (name = elf_find_needed(elf, i)); i++)
		if (c->n < LIBRARIES && !has_library(c, base_name(name)) &&
		    !elf_find(elf, name, path) && !elf_open(path, &c->files[c->n]))
			c->n++;
}

static struct closure *closure_new(const char *path)
{
	struct closure *c = calloc(1, sizeof(*c));

	if (!c)
		abort(); /* only out of memory, at the start of a command */
	if (!elf_open(path, &c->files[0]))
		c->n = 1;
	for (unsigned int i = 0; i < c->n; i++)
		follow_needed(c, &c->files[i]);
	return c;
}

static void closure_free(struct closure *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		elf_close(&c->files[i]);
	free(c);
}

/* The first file that contains @text, except those named @but; NULL if none does. */
static const char *find_text_in(const struct closure *c, const char *text, const char *but)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (strncmp(base_name(c->files[i].path), but, strlen(but)) &&
		    elf_mentions(&c->files[i], text))
			return base_name(c->files[i].path);
	return NULL;
}

void doctor_check_linked(struct doctor *doctor)
{
	struct closure *c;
	const char *who;

	if (!*doctor->image)
		return;
	c = closure_new(doctor->image);
	who = find_text_in(c, "libibverbs.so", "libibverbs.so");
	if (has_library(c, "libibverbs.so.1"))
		doctor_report(doctor, DOCTOR_OK, NULL, "it is linked with libibverbs%s",
			      has_library(c, "librdmacm.so.1") ? " and librdmacm" : "");
	else if (who)
		doctor_report(doctor, DOCTOR_NOTE,
			      "check with 'verbatim info TRACE' that its verbs were recorded",
			      "%s contains the name libibverbs: it may open that library with "
			      "dlopen()",
			      who);
	else
		doctor_report(doctor, DOCTOR_NOTE, "a plug-in or a child may load libibverbs",
			      "neither it nor its libraries are linked with libibverbs");
	closure_free(c);
}

/* A program that is linked with a provider can bypass libibverbs. */
void doctor_check_direct(struct doctor *doctor)
{
	static const char *const providers[] = { "libmlx5.so.1", "libmlx4.so.1", "libefa.so.1",
						 "libmana.so.1", "libhns.so.1" };
	struct closure *c;

	if (!*doctor->image)
		return;
	c = closure_new(doctor->image);
	for (size_t i = 0; i < sizeof(providers) / sizeof(*providers); i++)
		if (has_library(c, providers[i]))
			doctor_report(
				doctor, DOCTOR_NOTE,
				"make it use plain verbs (UCX: UCX_TLS=rc_v,ud_v,tcp,self)",
				"it is linked with %s: of that provider's own functions, only "
				"those that create objects are recorded; others are counted",
				providers[i]);
	closure_free(c);
}
