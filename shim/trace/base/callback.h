#pragma once
/*
 * Functions of higher layers that lower layers call
 *
 *	ring/record.h      CALLBACK(bool, record_start, (void));    declares a pointer to it
 *	                   CALL_BACK(record_start)()                calls it
 *	process/start.c    REGISTER(record_start, start_thread)     defines the pointer
 *
 * The pointers are constant, not set by a constructor: constructors of the program's libraries may
 * call verbs before the recorder's constructors have run. If a function is not registered, the
 * library does not link. Any thread.
 */
#define CALLBACK(ret, name, parameters) \
	extern ret(*const callback_##name) parameters __attribute__((visibility("hidden")))

#define CALL_BACK(name) (*callback_##name)

#define REGISTER(name, function) typeof(callback_##name) callback_##name = (function);
