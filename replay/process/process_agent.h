#pragma once
/*
 * In a replayed process: executes the commands of the replaying process.
 */
#include "replay/process/process_wire.h"

/* Serve process @process until it ends. Does not return. */
_Noreturn void process_agent_run(struct process_wire *wire, uint32_t process);
