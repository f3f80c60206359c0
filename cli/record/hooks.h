#pragma once
/*
 * Commands that are run when something fails: `record --on-error`, `--on-finding`. Not thread-safe.
 *
 * Each kind of error or finding starts its command once a minute at most. The command is the user's
 * text, for sh; facts are never part of it: they are in its environment and, as JSON, on its
 * standard input. A command that hangs is killed after a minute, and at most HOOKS_RUNNING run at a
 * time, so whatever it does, the recorder goes on.
 */
#include <stdbool.h>
#include <stdint.h>

enum { HOOKS_RUNNING = 8, HOOKS_KINDS = 256, HOOKS_FACTS = 16 };

/* The last has no name. @name: "rule"; in the environment VERBATIM_RULE. */
struct hook_fact {
	const char *name;
	const char *text; /* NULL: @number */
	uint64_t number;
};

struct hooks;

/* The commands will get the current environment. 0 or -errno after log_err(). */
int hooks_new(struct hooks **ret_hooks);

/* Accepts NULL. Commands that still run are left to themselves. */
void hooks_free(struct hooks *hooks);

/*
 * Run @command with @facts, unless a command was run for @kind within the last minute; the first
 * fact should be @kind. @command NULL: only note the kind. True: @kind is the first within a
 * minute.
 */
bool hooks_fire(struct hooks *hooks, const char *command, const char *kind,
		const struct hook_fact *facts);

/* Reap commands that have ended, kill commands that hang: call it several times a second. */
void hooks_reap(struct hooks *hooks);
