#pragma once
/*
 * Messages as a schedule in GOAL, the text format of LogGOPSim and ATLAHS.
 *
 * Not thread-safe.
 */
struct trace;

/* Write the schedule into @folder: schedule.goal and ranks.txt. 0 or -errno after log_err(). */
int goal_write(struct trace *trace, const char *folder);
