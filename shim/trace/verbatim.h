#pragma once
/*
 * Marks of a program in its own recording
 *
 *	verbatim_mark("checkpoint 3 written");
 *	verbatim_phase("warm-up", 1);
 *	...
 *	verbatim_phase("warm-up", 0);
 *
 * They appear in `verbatim dump` and `verbatim stat`, and in table `mark` of the trace. If the
 * program is not being recorded, these functions do nothing. No library must be linked, since the
 * recorder is looked up at the first call.
 *
 * Any thread; text is cut after 1000 bytes. errno is preserved.
 */
#ifdef __cplusplus
extern "C" {
#endif

void *dlsym(void *handle, const char *name);

typedef void verbatim_mark_fn(int kind, const char *text);

/* The recorder's function, or NULL. Each source file that has marks calls dlsym() once. */
static inline verbatim_mark_fn *verbatim_find(void)
{
	static verbatim_mark_fn *found;
	static int asked;

	if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
		*(void **)&found = dlsym((void *)0, "verbatim_record_mark");
		__atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
	}
	return found;
}

/* Mark a point in time. */
static inline void verbatim_mark(const char *text)
{
	verbatim_mark_fn *mark = verbatim_find();

	if (mark)
		mark(0, text);
}

/* A phase of the program begins (@begin is not 0) or ends. Phases with the same name nest. */
static inline void verbatim_phase(const char *name, int begin)
{
	verbatim_mark_fn *mark = verbatim_find();

	if (mark)
		mark(begin ? 1 : 2, name);
}

#ifdef __cplusplus
}
#endif
