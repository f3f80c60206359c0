#pragma once
/*
 * Finds out whether the program got a signal that the recorder got.
 *
 * A signal to the process group (Ctrl-C, timeout(1)) or to a whole control group (systemd) reaches
 * the program directly; one to the recorder's pid does not, and must be passed on. The difference
 * is detected with a witness: a process in the recorder's group that only notes the signals that it
 * gets.
 *
 * Not thread-safe.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct signal_witness {
	pid_t pid;
	int fd; /* a byte for each signal received */
	/* the signals to be passed on: those that the recorder was not started to ignore */
	sigset_t signals;
	sigset_t before; /* the original signal mask */
	sigset_t got;    /* by the witness */
};

/* Block the signals to be passed on and start the witness. Returns 0 or -errno. */
int signal_witness_start(struct signal_witness *witness);

/* Read which signals the witness has got so far. */
void signal_witness_read(struct signal_witness *witness);

/* Had the witness got @signal, too, by the last signal_witness_read()? */
bool signal_witness_has(const struct signal_witness *witness, int signal);

/* Forget the signals that the witness has got so far. */
void signal_witness_forget(struct signal_witness *witness);

/* End the witness; accepts a witness that was never started. */
void signal_witness_stop(struct signal_witness *witness);
