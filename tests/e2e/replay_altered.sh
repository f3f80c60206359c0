#!/usr/bin/env bash
# Recordings that were altered at random: an alteration of specified behaviour is the first
# divergence of their replay, at its event; any other is not reported. Damaged ones are an error,
# never a crash or a hang. ALTERATIONS and SEED select others than the default ones.
. tests/e2e/lib/try.sh
export VERBATIM_QUIET=1
needs "$apps/payload" "$apps/every_verb" "$apps/senders"
cd "$tmp" || exit 1
unset VERBATIM_DEVICE VERBATIM_SOFT_FABRIC
alter=$root/tests/e2e/replay/alter.py damage=$root/tests/e2e/replay/damage.py
export PYTHONDONTWRITEBYTECODE=1
: "${ALTERATIONS:=$(share 60 300)}" "${DAMAGED:=$(share 30 60)}" "${SEED:=1}"

new_enough='import sqlite3, sys; sys.exit(sqlite3.sqlite_version_info < (3, 31))'
python3 -c "$new_enough" 2>/dev/null ||
	{ skip altered "python3 with SQLite 3.31 is not installed"; exit 0; }

# NAME PROGRAM...: recorded with its payload, and unpacked, if it is installed
record() {
	command -v "$2" >/dev/null || return 0
	[ "$2" != ibv_srq_pingpong ] || set -- "$@" -q 4
	case $2 in ibv_*) set -- "$1" "$both" "${@:2}" -n 30 ;; esac
	timeout 60 "$VERBATIM" record --device soft --payload full -o packed.db -- \
		"${@:2}" >out 2>&1 && "$VERBATIM" unpack -o "$1.db" packed.db >out 2>&1 ||
		{ echo "recording $1: $(tail -1 out)"; return 1; }
}

record_all() {
	${CC:-cc} -o errors "$root/tests/replay/errors.c" -libverbs -lpthread || return
	local each
	for each in rc uc ud srq; do
		record $each ibv_${each}_pingpong || return
	done
	record payload "$apps/payload" && record errors ./errors &&
		record senders "$apps/senders" &&
		VERBATIM_SOFT_LINK=roce record every "$apps/every_verb"
}

altered() {
	python3 "$alter" "$ALTERATIONS" "$SEED" *.db >table 2>&1
}

# An error that was altered into the trace is injected; its consequences were not recorded.
altered_and_injected() {
	KINDS='status,result of a call' FAULTS=recorded python3 "$alter" $((ALTERATIONS / 4)) \
		"$SEED" *.db >table.injected 2>&1
}

damaged() { python3 "$damage" "$DAMAGED" "$SEED" *.db packed packed; }

# The trace names wrong objects to destroy; the replay destroys these before a call that has them as
# arguments. Freed memory is filled, so that its use ends the replay.
destroys_are_moved() { # trace, options of replay
	local change
	for change in "object SET destroyed_n = destroyed_n + 1" \
		"object SET destroyed_thread = destroyed_thread + 1" \
		"object SET destroyed_n = destroyed_n + 1 WHERE kind IN ('context', 'pd', 'cq')" \
		"object SET destroyed_n = 1, destroyed_at = 1 WHERE kind = 'context'" \
		"object SET parent = NULL, destroyed_n = destroyed_n + 1 WHERE kind = 'context'" \
		"call SET n = n + 1 WHERE (thread, n) IN (SELECT thread, max(n) FROM call
			WHERE verb IN ('ibv_destroy_cq', 'ibv_dealloc_pd') GROUP BY 1)" \
		"call SET object = 0" "object SET process = process + 1 WHERE kind = 'mr'"; do
		cp "$1" moved.db && sqlite3 moved.db "UPDATE OR REPLACE $change" || return
		MALLOC_PERTURB_=85 GLIBC_TUNABLES=glibc.malloc.tcache_count=0 timeout 60 \
			"$VERBATIM" replay --device soft --timeout 1 "${@:2}" moved.db >out 2>&1
		status=$?
		if [ $status -gt 3 ] || grep -q 'ended by signal\|Sanitizer' out; then
			echo "$1 ${*:2}: $change: status $status: $(tail -3 out)"
			return 1
		fi
	done
}

no_call_names_what_was_destroyed_before_it() {
	local each how status
	while read -r each how; do
		[ ! -e $each.db ] || destroys_are_moved $each.db $how || return
	done <<-END
		rc --threads serial
		every --threads recorded
		errors --processes
		$(share "" "rc --threads recorded
		rc --processes
		every --threads serial
		every --processes
		errors --threads serial
		errors --threads recorded")
	END
}

try record_all
mv packed.db packed # the last; for damage alone
try no_call_names_what_was_destroyed_before_it
rm -f moved.db
try altered
cat table
try altered_and_injected
cat table.injected
try damaged
exit $failed
