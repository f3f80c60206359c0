# A program that is stopped where a verb fails, for a debugger: record --stop-on.
. tests/e2e/lib/try.sh
app=$apps/stop_spot
needs "$app"
cd "$tmp" || exit 1

# start WHAT ARGUMENT...: record the program until it is stopped; sets recorder, pid, tid
start() {
	local what=$1; shift
	: >err
	"$VERBATIM" record -q --stop-on="$what" -o t.db -- "$app" "$@" >out 2>err & recorder=$!
	await grep -q 'is stopped here' err || { cat err; return 1; }
	pid=$(sed -n 's/.*pid \([0-9]*\) is stopped here, in its thread \([0-9]*\):.*/\1/p' err)
	tid=$(sed -n 's/.*pid \([0-9]*\) is stopped here, in its thread \([0-9]*\):.*/\2/p' err)
	grep -q '^State:.T' "/proc/$pid/task/$tid/status" && grep -q '^State:.T' "/proc/$pid/status"
}
bare() { "$VERBATIM" run -- "$app" "$@" >wanted 2>/dev/null; }
ends_unchanged() { # status of the recorder
	wait $recorder
	is "$?" "${1:-0}" && is "$(cat out)" "$(cat wanted)"
}
told() { # extended pattern
	grep -Eq "$1" err || { echo "no '$1' in: $(cat err)"; return 1; }
}

stops_in_the_verb() { # kind, expected message
	bare "$1" && start error "$1" && told "$2" && is "$(cat out)" "" &&
		kill -CONT "$pid" && ends_unchanged && is "$(grep -c 'is stopped' err)" 1
}

# The reported event is the failed one.
names_the_event() {
	local event
	bare verb && start error verb && kill -CONT "$pid" && ends_unchanged || return
	event=$(sed -n 's/.* at \([0-9]*:[0-9]*\) in .*/\1/p' err)
	"$VERBATIM" dump t.db "$event" | grep -q 'ibv_modify_qp.*EINVAL'
}

print_magic='thread apply all -s -q frame apply all -s -q print magic'
a_debugger_finds_the_locals() { # kind
	bare "$1" && start error "$1" || return
	gdb -nx -batch -p "$pid" -ex "$print_magic" >debugger 2>&1 </dev/null
	grep -q '= 4711' debugger || { cat debugger; kill -CONT "$pid"; return 1; }
	ends_unchanged # the debugger has detached, and that suffices
}

only_the_first_stops() {
	bare verb 3 && start error verb 3 && kill -CONT "$pid" && ends_unchanged &&
		is "$(grep -c 'is stopped' err)" 1
}

stops_has() { [ "$(grep -c 'is stopped here' err)" -ge "$1" ]; }
each_stops_where_that_is_asked_for() {
	bare verb 3 && start error,every verb 3 && kill -CONT "$pid" &&
		await stops_has 2 && kill -CONT "$pid" && await stops_has 3 &&
		kill -CONT "$pid" && ends_unchanged && is "$(grep -c 'is stopped' err)" 3
}

does_not_stop() { # what, kind
	bare "$2" && "$VERBATIM" record -q --stop-on="$1" -o t.db -- "$app" "$2" >out 2>err &&
		is "$(cat out)" "$(cat wanted)" && is "$(cat err)" ""
}

what_is_named_stops() { # condition, kind, expected message
	bare "$2" && start "$1" "$2" && told "$3" && kill -CONT "$pid" && ends_unchanged
}

a_recorder_that_is_to_end_lets_it_go_on() {
	start error verb && kill -TERM $recorder && wait $recorder
	is "$?" 143 && is "$(cat out)" ""
}

# The program continues, and the core file has the thread where it was.
a_core_is_written_instead() { # kind
	local core
	bare "$1" && "$VERBATIM" record -q --core -o t.db -- "$app" "$1" >out 2>err
	is "$?" 0 && is "$(cat out)" "$(cat wanted)" && told 'core file t.db.*; pid' || return
	core=$(sed -n 's/.*core file \(t.db[^;]*\);.*/\1/p' err)
	is "$(stat -c %a "$core")" 600 || return
	gdb -nx -batch "$app" "$core" -ex "$print_magic" >debugger 2>&1 </dev/null
	grep -q '= 4711' debugger || { cat debugger; return 1; }
	rm -f "$core"
}

# Another user may write to the folder and guesses the name: a fake gcore creates the file, or a
# link, in time. They are empty: gdb itself removes others first.
a_core_is_not_written_into_what_is_there() { # command that creates it, from a name
	local core n
	mkdir -p bin && rm -f t.db* && : >victim && bare verb || return
	printf '%s\n' '#!/bin/sh' 'for pid; do :; done' 'n=0; while [ $n -lt 60 ]; do' \
		"for t in 1 2 3; do $1 t.db.\$t-\$n.core.\$pid; done" 'n=$((n + 1)); done' \
		"exec $(command -v gcore) \"\$@\"" >bin/gcore && chmod +x bin/gcore || return
	PATH=$PWD/bin:$PATH "$VERBATIM" record -q --core -o t.db -- "$app" verb >out 2>err
	is "$?" 0 && told 'core file t.db.*; pid' || return
	core=$(sed -n 's/.*core file \(t.db[^;]*\);.*/\1/p' err)
	n=$(find . -name 't.db.*' -size +4k | wc -l)
	is "$n $(stat -c '%a %F' "$core")" "1 600 regular file" && [ ! -s victim ] &&
		is "$(find . -type d -name 't.db.*')" ""
	local status=$?
	rm -rf bin t.db.* victim
	return $status
}

# A fake gcore behaves as if the disk were full.
a_core_that_cannot_be_written_is_reported() {
	mkdir -p bin && echo '#!/bin/sh' >bin/gcore && chmod +x bin/gcore && bare verb || return
	echo 'echo saving; echo "No space left on device"; exit 1' >>bin/gcore
	PATH=$PWD/bin:$PATH "$VERBATIM" record -q --core -o t.db -- "$app" verb >out 2>err
	is "$?" 0 && is "$(cat out)" "$(cat wanted)" &&
		told 'no core file could be written \(No space left on device\); pid' || return
	PATH=$PWD/bin:$PATH "$VERBATIM" record -q --core -o t.db -- "$app" probe >out 2>err &&
		is "$(cat err)" ""
}
# A fake gcore is still writing when the program is killed. The recorder does not wait for the
# program's child, and says so when it ends.
a_core_that_is_being_written_is_waited_for() {
	mkdir -p bin && rm -f t.db* go pid && printf '%s\n' '#!/bin/sh' 'echo $3 >pid.new' \
		'mv pid.new pid' 'until [ -e go ]; do sleep 0.01; done' \
		'echo core >"$2.$3"' >bin/gcore && chmod +x bin/gcore || return
	PATH=$PWD/bin:$PATH "$VERBATIM" record -q --core --linger 0s -o t.db -- sh -c \
		'sleep 600 & echo $! >child; exec "$@"' sh "$app" verb >out 2>err & recorder=$!
	await [ -s pid ] && pid=$(cat pid) && kill -KILL "$pid" &&
		await grep -q 'is left running' err
	: >go
	wait $recorder
	is "$?" 137 && told "core file t.db.*core.$pid; pid" && is "$(cat t.db.*core.$pid)" core &&
		is "$(find . -type d -name 't.db.*')" ""
	local status=$?
	kill "$(cat child)"
	rm -rf bin t.db.*
	return $status
}
without_gcore_nothing_is_started() {
	mkdir -p empty
	PATH=$PWD/empty "$VERBATIM" record -q --core -o t.db -- "$app" verb >out 2>err
	is "$?" 4 && told 'gcore, a part of gdb' && is "$(cat out)" ""
}

what_cannot_be_meant_is_refused() {
	local what
	for what in warning every IBV_WC_SUCCESS ibv_post '' 1:2; do
		"$VERBATIM" record -q --stop-on="$what" -o t.db -- true 2>err
		is "$what" "$?" 2 && told 'error, finding, a verb' || return
	done
}

try stops_in_the_verb verb 'ibv_modify_qp.. failed with 22 .* in fail_verb.*\(stop_spot.c:[0-9]+'
try stops_in_the_verb post 'ibv_post_send.. failed with .* in fail_post.*\(stop_spot.c:[0-9]+'
try stops_in_the_verb poll \
	'ibv_poll_cq.. returned IBV_WC_REM_ACCESS_ERR, wr_id 0x0,.* in poll_error.*\(stop_spot.c:'
try stops_in_the_verb create 'ibv_create_cq.. failed with .* in fail_creation'
try names_the_event
try only_the_first_stops
try each_stops_where_that_is_asked_for
try does_not_stop error probe
try does_not_stop IBV_WC_RETRY_EXC_ERR poll
try does_not_stop ibv_post_send verb
try what_is_named_stops ibv_get_cq_event probe 'ibv_get_cq_event.. failed'
try what_is_named_stops IBV_WC_WR_FLUSH_ERR poll 'returned IBV_WC_WR_FLUSH_ERR, wr_id 0x1,'
try a_recorder_that_is_to_end_lets_it_go_on
try what_cannot_be_meant_is_refused
try a_core_that_cannot_be_written_is_reported
try a_core_that_is_being_written_is_waited_for
try without_gcore_nothing_is_started

if ! command -v gdb >/dev/null; then
	skip "a debugger finds the locals" "gdb is not installed"
else
	for kind in verb post poll; do try_in_turn a_debugger_finds_the_locals $kind; done
	try_in_turn a_core_is_written_instead verb
	try_in_turn a_core_is_written_instead poll
	try a_core_is_not_written_into_what_is_there 'ln -s victim'
	try a_core_is_not_written_into_what_is_there 'install -m 666 victim'
fi
exit $failed
