#pragma once
/*
 * In a replayed process: carry out what the replaying one asks for.
 */
#include "replay/process/process_wire.h"

/* Serve process @process until it ends. Does not return. */
_Noreturn void process_agent_run(struct process_wire *wire, uint32_t process);
