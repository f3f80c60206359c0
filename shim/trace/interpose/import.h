#pragma once
/*
 * Functions that are interposed without being exported, where a loaded object
 * imports them: verbs that only newer libraries have, and what providers offer
 * beside the verbs (mlx5dv_*, efadv_*). Any thread.
 */
#include <link.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/base/callback.h"

/* Look at all loaded objects. Takes the loader's lock; not to be called under it. */
void import_look(void);

/* The same if something was loaded since, and the process is recorded. */
void import_look_again(void);

/* Look at one more object. Takes no lock where it imports nothing of the kind. */
void import_see(const struct dl_phdr_info *info);

/* Once there is a ring: report which functions may be called unseen. */
void import_tell(void);

/* Is it the name of such a function? */
bool import_is_known(const char *name);

/* Is such a function known to be of that version? */
bool import_is_of(const char *name, const char *version);

/*
 * The program has looked up @name, and found @found, which is not NULL. What it
 * gets instead; NULL: it gets @found.
 */
void *import_instead(const char *name, void *found);

/* Our function of a verb that is not exported, or NULL. wrappers.c. */
CALLBACK(void *, import_later, (enum verb verb));
