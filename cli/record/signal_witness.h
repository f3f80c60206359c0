#pragma once
/*
 * Signals to the recorder, and whether the program got them, too.
 *
 * A signal to the process group (Ctrl-C, timeout(1)) or to a whole control
 * group (systemd) reaches the program without us; one to our pid does not, and
 * has to be passed on. To know which it was there is a witness: a process
 * in our group that does nothing but note the signals that it gets.
 *
 * One thread.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct signal_witness {
	pid_t pid;
	int fd;           /* a byte for each signal that it got */
	sigset_t signals; /* those that we pass on: not those that we were started to ignore */
	sigset_t before;  /* our mask as it was */
	sigset_t got;     /* by the witness */
};

/* Block the signals that we pass on and start the witness. Returns 0 or -errno. */
int signal_witness_start(struct signal_witness *witness);

/* Read which signals it has got until now. */
void signal_witness_look(struct signal_witness *witness);

/* Had @signal reached the witness, too, by the last look? */
bool signal_witness_got(const struct signal_witness *witness, int signal);

/* Forget the signals that it has got so far. */
void signal_witness_forget(struct signal_witness *witness);

/* End it; accepts one that was never started. */
void signal_witness_stop(struct signal_witness *witness);
