#pragma once
/*
 * Functions that are interposed in the import slots of loaded objects, without being exported:
 * verbs that only newer libraries have, and functions of providers that bypass the verbs (mlx5dv_*,
 * efadv_*). Any thread.
 */
#include <link.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/base/callback.h"

/* Process all loaded objects. Takes the loader's lock; the caller must not hold it. */
void import_scan_all(void);

/* The same, but only if an object was loaded since the last time, and the process is recorded. */
void import_rescan(void);

/* Process one more object. Takes no lock if the object imports no function that we replace. */
void import_scan(const struct dl_phdr_info *info);

/*
 * When the first ring exists: report functions that may be called without the recorder's knowledge.
 */
void import_report(void);

/* Is @name the name of such a function? */
bool import_is_known(const char *name);

/* Is @name the name of such a function, and @version a known version of it? */
bool import_is_of(const char *name, const char *version);

/*
 * The program has looked up @name, and found @found, which is not NULL. Returns the replacement;
 * NULL: none.
 */
void *import_replacement(const char *name, void *found);

/* The recorder's function for a verb that is not exported; NULL: none. Defined in wrappers.c. */
CALLBACK(void *, import_later, (enum verb verb));
