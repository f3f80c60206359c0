#pragma once
/*
 * SQLite's header, for this room.
 *
 * The loadable extension is compiled with STORE_EXTENSION: it calls the SQLite
 * that loaded it, never one of its own.
 */
#ifdef STORE_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
#else
#include <sqlite3.h>
#endif
