#!/usr/bin/env bash
# One process per recorded process, forked at the same points: --processes.
. tests/e2e/lib/try.sh
needs "$apps/forks"
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1
payload= messages=$(share 100 500)

record() {
	timeout 120 "$VERBATIM" record --device soft $payload -o "$t" -- "$@" >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; return 1; }
}

replay() { # options
	timeout 120 "$VERBATIM" replay --device soft "$@" "$t" >"$tmp/out" 2>&1
}

# The last recording is replayed: in one process, and in as many as recorded.
comes_again() {
	local how
	for how in "" --processes "--processes --threads serial"; do
		replay $how || { echo "replay $how: status $?"; cat "$tmp/out"; return 1; }
		says "^no divergence$" "$tmp/out" && says "posts of [1-9]" "$tmp/out" || return
	done
}

program() { # and its words
	record "$@" && comes_again
}

# The calls of each process, except the replay's own queries of the device. Processes that forked
# before their first verbs are numbered by their first verb, in an order that varies; so the one
# with the most calls is number 1.
calls_of() { # trace, its first process
	local known="WITH known AS (SELECT * FROM call WHERE NOT ours AND depth = 0
			AND process >= $2 AND verb NOT GLOB '*_device*'
			AND verb NOT GLOB '*query*' AND verb NOT GLOB '*ack*'),
		number AS (SELECT p.id, p.parent, row_number() OVER (ORDER BY count(k.n) DESC,
			p.id) AS n FROM process p LEFT JOIN known k ON k.process = p.id
			WHERE p.id >= $2 GROUP BY p.id)"
	"$VERBATIM" sql "$1" "$known SELECT p.n, coalesce(o.n, 'root'), c.verb, c.failed
		FROM known c JOIN number p ON p.id = c.process LEFT JOIN number o ON o.id = p.parent
		ORDER BY p.n, c.begin" &&
		"$VERBATIM" sql "$1" "$known SELECT p.n, verb, ret, count(*)
			FROM post LEFT JOIN number p ON p.id = process
			GROUP BY 1, 2, 3 ORDER BY 1, 2, 3" &&
		"$VERBATIM" sql "$1" "$known SELECT p.n, o.n, how FROM fork
			LEFT JOIN number p ON p.id = process
			LEFT JOIN number o ON o.id = child WHERE child
			ORDER BY 1, 2"
}

# The recorded replay: its first process is the engine, which calls only verbs for devices.
its_processes_do_what_was_recorded() { # program
	record "$@" || return
	timeout 120 "$VERBATIM" record --device soft -o "$tmp/again.db" -- \
		"$VERBATIM" replay --device soft --processes "$t" >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; return 1; }
	calls_of "$t" 1 >"$tmp/there" && calls_of "$tmp/again.db" 2 >"$tmp/here" &&
		diff "$tmp/there" "$tmp/here" && grep -q . "$tmp/here"
}

# Without --processes, calls that failed because a child used inherited objects are left out.
refused_use_of_inherited_objects_is_left_out() {
	local status
	record "$apps/forks" inherited || return
	replay
	status=$?
	is "status" $status 1 &&
		says "^no divergence; .* left out: a forked process uses objects of its" \
		"$tmp/out" && says "\-\-processes replays that" "$tmp/out" || return
	replay --processes && says "^no divergence$" "$tmp/out"
}

# The result of a call is in its process's memory: a sanitizer ends a replay that dereferences it in
# another.
every_verb_is_called_in_its_process() {
	local status
	VERBATIM_SOFT_LINK=roce record "$apps/every_verb" || return
	replay --processes
	status=$?
	is "status" $status 1 && says "^no divergence; .* left out" "$tmp/out" &&
		! grep Sanitizer "$tmp/out"
}

# A replay that runs long enough to be disturbed.
replay_slowly() { # options
	exec timeout 120 "$VERBATIM" replay --device soft --processes --pace x0.05 "$@" "$t" \
		>"$tmp/out" 2>"$tmp/err"
}

# The process of a replay that forks root processes, and its children.
roots_of() { # pid
	local at=$1 deeper
	while deeper=$(pgrep -P "$at" | head -n 1) && [ -n "$deeper" ]; do
		[ "$(pgrep -c -P "$at")" -lt 2 ] || break
		at=$deeper
	done
	pgrep -P "$at"
}
has_roots() { roots=$(roots_of "$1") && [ "$(wc -l <<<"$roots")" -ge 2 ]; }

lost_process_is_reported() { # signal, expected text in the report
	local pid roots
	record "$both" ibv_rc_pingpong -n $messages || return
	replay_slowly --fail-fast & pid=$!
	await has_roots $pid || return
	kill -s "$1" "${roots%%[!0-9]*}"
	wait $pid
	is status $? 1 || { cat "$tmp/out" "$tmp/err"; return 1; }
	says "process: recorded process [12] continues, replayed $2" "$tmp/out" ||
		{ cat "$tmp/err"; return 1; }
}

leaves_no_process() { # pids
	local pid
	for pid; do await is_gone "$pid" || { echo "$pid is left"; return 1; }; done
}
is_gone() { ! grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"; }

signal_ends_all() { # signal, status
	local pid roots
	record "$both" ibv_rc_pingpong -n $messages || return
	replay_slowly & pid=$!
	await has_roots $pid || return
	kill -s "$1" "$(pgrep -P $pid)" # not timeout, whose end by SIGKILL the replay does not see
	wait $pid
	is status $? "$2" || { cat "$tmp/out" "$tmp/err"; return 1; }
	[ "$1" = KILL ] || says "^partial, ended by SIG$1" "$tmp/out" || return
	leaves_no_process $roots
}

deadline_ends_all() {
	record "$both" ibv_rc_pingpong -n $messages || return
	(replay_slowly --pace x0.001 --deadline 500ms)
	is status $? 3 && says "^partial, ended by --deadline" "$tmp/out"
}

# One key is altered, and the first divergence ends the replay.
first_divergence_ends_all() {
	record "$apps/forks" nested && "$VERBATIM" unpack -o "$tmp/altered.db" "$t" || return
	sqlite3 "$tmp/altered.db" "UPDATE call SET ret = 22, failed = 1 WHERE verb = 'ibv_modify_qp'
		AND thread = 1 AND n = (SELECT min(n) FROM call
			WHERE verb = 'ibv_modify_qp' AND thread = 1)" || return
	mv "$tmp/altered.db" "$t"
	replay --processes --fail-fast --faults none
	is status $? 1 &&
		says "^partial, ended at the first divergence (--fail-fast).*: 1 divergence" \
			"$tmp/out"
}

one_side_has_a_made_peer() {
	record "$both" ibv_rc_pingpong -n 200 && "$VERBATIM" unpack -o "$tmp/one.db" "$t" || return
	local table
	for table in call post poll notify; do
		sqlite3 "$tmp/one.db" "DELETE FROM $table WHERE thread IN
			(SELECT id FROM thread WHERE process = 2)" || return
	done
	sqlite3 "$tmp/one.db" "DELETE FROM object WHERE process = 2;
		DELETE FROM thread WHERE process = 2; DELETE FROM process WHERE id = 2" || return
	mv "$tmp/one.db" "$t"
	comes_again
}

# A process that is forked while another thread allocates may never be able to allocate.
no_process_is_forked_beside_a_thread() {
	record "$both" ibv_rc_pingpong -n 20 || return
	strace -f -qq -e trace=clone,clone3,fork,vfork -o "$tmp/clones" \
		timeout 120 "$VERBATIM" replay --device soft --processes "$t" >"$tmp/out" 2>&1
	is status $? 0 || { cat "$tmp/out"; return 1; }
	is "forked" "$(awk '/CLONE_THREAD/ { threads[$1] = 1 }
		/CLONE_CHILD_CLEARTID.SIGCHLD|CLONE_CHILD_SETTID.SIGCHLD/ {
			print threads[$1] ? "beside a thread" : "alone" }' "$tmp/clones" |
		sort -u)" "alone"
}

cut_trace_comes_again() {
	timeout 120 "$VERBATIM" record --device soft --flight 512k -o "$t" -- \
		"$both" ibv_rc_pingpong -n $(share 8000 20000) >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; return 1; }
	comes_again
}

try "a child with traffic" program "$apps/forks" traffic
try_in_turn "eight children" program "$apps/forks" traffic 8
try_in_turn "a child of a child" program "$apps/forks" nested
try_in_turn "a child is killed" program "$apps/forks" killed
try_in_turn "a parent ends first" program "$apps/forks" orphan
try_in_turn "copies of registered memory" program "$apps/forks" copies
try_in_turn "a thread forks" program "$apps/forks" thread
try_in_turn "a child by posix_spawn" program "$apps/forks" spawn
try_in_turn "fork support" program "$apps/forks" init
try every_verb_is_called_in_its_process
try_in_turn "a killed peer" program "$apps/killed_peer"
try refused_use_of_inherited_objects_is_left_out

payload=--payload=full
try_in_turn "contents: a child with traffic" program "$apps/forks" nested
try_in_turn "contents: copies of registered memory" program "$apps/forks" copies
payload=

for mode in "traffic 3" inherited nested orphan copies thread; do
	try_in_turn "recorded again: $mode" its_processes_do_what_was_recorded "$apps/forks" $mode
done

if command -v ibv_rc_pingpong >/dev/null; then
	try "two programs" program "$both" ibv_rc_pingpong -n $messages
	try_in_turn "events" program "$both" ibv_rc_pingpong -e -n $messages
	try_in_turn "datagrams" program "$both" ibv_ud_pingpong -n $messages
	try_in_turn "XRC: a domain of both" program "$both" ibv_xsrq_pingpong -n 200
	try "recorded again: two programs" its_processes_do_what_was_recorded \
		"$both" ibv_rc_pingpong -n 100
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0 \
		TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}handle_segv=0 \
		try_in_turn "a process that crashes" lost_process_is_reported SEGV \
		"ended by signal 11 (Segmentation fault)"
	try_in_turn "a process that is killed" lost_process_is_reported KILL \
		"ended by signal 9 (Killed)"
	try_in_turn "SIGTERM" signal_ends_all TERM 143
	try_in_turn "SIGHUP" signal_ends_all HUP 129
	try_in_turn "the replay is killed" signal_ends_all KILL 137
	try deadline_ends_all
	try one_side_has_a_made_peer
	try_in_turn cut_trace_comes_again
	if [ "${SAN:-}" ]; then skip "no process is forked beside a thread" "a sanitizer's own"
	elif ! command -v strace >/dev/null; then
		skip "no process is forked beside a thread" "no strace"
	else try no_process_is_forked_beside_a_thread; fi
else
	skip "two programs" "ibv_rc_pingpong is not here"
fi
try first_divergence_ends_all

if command -v ib_send_bw >/dev/null; then
	try "builders and extended queues" program "$both" ib_send_bw -F -n $messages -b
else
	skip "builders and extended queues" "ib_send_bw is not here"
fi
exit $failed
