#pragma once
/*
 * Names of objects as users write them. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum { OBJECT_NAME = 64, OBJECT_TRACE = 16 };

/*
 * An object as a user names it: "qp1" in any process; "qp1/2" in process 2; "b.db:qp1/2" in trace
 * b.db, if several traces are read as one.
 */
struct object_name {
	char trace[OBJECT_TRACE]; /* ""; else "b.db" */
	char name[OBJECT_NAME];
	uint32_t process; /* the number of the process in @trace; 0: any */
};

/* Read a name. False, with *@ret_name unchanged: @text has another form. */
bool object_name_read(const char *text, struct object_name *ret_name);
