#pragma once
/*
 * A recorder whose trace another process writes: one of several of a job on a node. Not
 * thread-safe.
 */
#include "cli/record/recording.h"

/* Run the program to its end. Returns the exit status. */
int member_run(const struct recording_settings *settings);
