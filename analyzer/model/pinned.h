#pragma once
/*
 * Registered memory of a process, and the effect of a fork on it.
 *
 * A registration pins whole pages, counted against RLIMIT_MEMLOCK; on-demand regions, device memory
 * and memory of other processes pin nothing. Two regions in one page count it twice, as in the
 * kernel.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct device;
struct model;
struct process;
struct trace_event;

enum fork_safety {
	FORK_NOT_KNOWN,
	FORK_COPIES, /* the kernel gives the child copies of registered pages */
	FORK_KEPT,   /* the library excludes registered memory from forks */
	/* no copy and no fork support: the first process to write to a page gets a new page */
	FORK_UNSAFE,
};

struct pinned {
	uint64_t bytes;            /* of live regions */
	uint32_t regions;          /* live regions */
	struct moment first, last; /* registrations that succeeded */
	uint32_t streak;           /* registrations since streak_began, at most a second ago */
	int64_t streak_began;
	struct event_id given; /* `last` at the last call of model_take_regions() */
	int64_t given_to;
	int copies; /* does the kernel copy pages? 1, 0; -1 not known; valid once `asked` */
	bool asked;
	bool implied; /* `kept` is set from the environment */
	bool kept;    /* the library excludes registered memory from forks, if it can */
	/* the program has requested fork support, or asked whether it is needed, and it is not */
	bool checked;
	/* the first ibv_fork_init() that came after a registration, and so protects nothing */
	struct moment late;
};

/* The pinned memory of @process; never NULL. */
const struct pinned *model_pinned(const struct model *model, uint32_t process);

/*
 * The live regions of @process that pin memory and were not returned before, in order of creation;
 * the caller frees the array. Their number or -ENOMEM.
 */
ssize_t model_take_regions(struct model *model, uint32_t process, struct life ***ret_found);

/* The live region at @handle that pins memory; NULL if there is none. */
const struct life *model_region(const struct model *model, uint32_t process, uint64_t handle);

/* The live context or completion channel at @handle; NULL if there is none. */
const struct life *model_descriptor(const struct model *model, uint32_t process, uint64_t handle);

/* The effect that a fork of @process would have now. */
enum fork_safety model_fork_safety(struct model *model, uint32_t process);

/* Has @process asked for fork support, which a kernel that copies pages does not need? */
bool model_asked_fork_safety(struct model *model, uint32_t process);

/* Bytes of the pages that @length bytes at @addr touch. */
uint64_t pinned_page_bytes(const struct model *model, uint32_t process, uint64_t addr,
			   uint64_t length);

/* The memory that registration @event requests. False: it pins no memory. */
bool pinned_read_request(const struct trace_event *event, uint64_t *ret_addr, uint64_t *ret_length);

/*
 * What applies RLIMIT_MEMLOCK to @process on @device (NULL: not known) although the process has
 * CAP_IPC_LOCK: "siw", which ignores that capability (Linux 6.1), or "VERBATIM_SOFT_MEMLOCK". "":
 * the process lacks CAP_IPC_LOCK. NULL: the limit does not apply, or is not known.
 */
const char *pinned_limiter(const struct model *model, uint32_t process,
			   const struct device *device);

/* The device of registration @event; NULL: not known. */
const struct device *pinned_device_of(struct model *model, const struct trace_event *event);

/* For model.c: a control verb of the application returned; @child inherits; @life is dead. */
int pinned_note_return(struct model *model, const struct trace_event *event);
int pinned_inherit(struct model *model, uint32_t child, uint32_t parent);
void pinned_remove_region(struct model *model, struct life *life);
