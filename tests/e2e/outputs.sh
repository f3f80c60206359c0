# Files that results of commands may replace: never a trace, unless the result is one; a link is
# replaced, and its target is unchanged.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

"$VERBATIM" record -q -o good.db "$apps/guest" calls 20 || exit 1
"$VERBATIM" record -q -o other.db "$apps/guest" calls 30 || exit 1
tidy() { rm -rf "$tmp"/o "$tmp"/t.db* "$tmp"/err "$tmp"/out; }

# Commands that write a result to $1 that is not a trace
each() { # command...
	"$@" report -o o/x.c good.db && "$@" export --format perfetto -o o/x.c good.db &&
		"$@" export --format dot -o o/x.c good.db && "$@" emit -o o/x.c good.db &&
		"$@" replay --report o/x.c good.db && "$@" check --write-baseline o/x.c good.db
}
# Commands that write a trace
each_trace() {
	"$@" trim -o o/x.c good.db && "$@" unpack -o o/x.c good.db &&
		"$@" replay --record o/x.c good.db
}
run() { "$VERBATIM" "$@" >out 2>err; }

spares_trace() { # command...
	cp other.db o/x.c || return
	run "$@"; local status=$?
	is "$*: $status $(wc -l <err)" "$*: 2 1" && says "is a trace" err && cmp o/x.c other.db &&
		is "$*: $(ls o)" "$*: x.c"
}
# The others that write a file which is not a trace
others() { # command...
	"$@" model -o o/x.c good.db && "$@" bundle -o o/x.c good.db &&
		"$@" facts -o o/x.c good.db &&
		"$@" record --check --write-baseline o/x.c true
}
leaves_trace() { # command...
	cp other.db o/x.c || return
	run "$@"; local status=$?
	[ $status -eq 2 ] || [ $status -eq 4 ] || { echo "$*: $status"; return 1; }
	says "is a trace" err && cmp o/x.c other.db && is "$*: $(ls o)" "$*: x.c"
}
result_does_not_replace_a_trace() { mkdir o && each spares_trace && others leaves_trace; }

# A trace that another one replaces is kept, and nothing else
keeps_trace() { # command...
	rm -rf o && mkdir o && cp other.db o/x.c && echo other >o/x.c.old || return
	run "$@"; local status=$?
	[ $status -ne 0 ] && cmp o/x.c other.db && is "$*: $(cat o/x.c.old)" "$*: other" &&
		says "is not a trace" err || return
	rm o/x.c.old
	run "$@" || { cat err; return 1; }
	cmp o/x.c.old other.db && ! cmp -s o/x.c other.db &&
		is "$*: $(ls o | xargs)" "$*: x.c x.c.old"
}
trace_that_a_trace_replaces_is_kept() {
	each_trace keeps_trace && keeps_trace merge -o o/x.c good.db other.db &&
		keeps_trace record -q -o o/x.c "$apps/guest" calls 2
}

end_names_what_failed() {
	record -d soft "$apps/refused" >out 2>err
	says '^verbatim: 4 verbs failed: verbatim check t.db$' err &&
		"$VERBATIM" check t.db >out; says 'BAD: 4 verbs failed' out || return
	record -d soft "$apps/first_error" >out 2>err
	says '^verbatim: 1 completion in error: verbatim check t.db$' err || return
	record -d soft "$apps/guest" calls 2 >out 2>err
	! grep 'verbatim check' err && record -q -d soft "$apps/refused" >out 2>err &&
		is "$(cat err)" ""
}

replaces_link() {
	rm -rf o && mkdir o && echo precious >o/target && ln -s target o/x.c || return
	run "$@"; [ $? -le 1 ] || { cat err; return 1; }
	is "$*: $(cat o/target)" "$*: precious" && [ ! -L o/x.c ] && [ -s o/x.c ] &&
		is "$*: $(stat -c %a o/x.c)" "$*: 600" && is "$(ls o)" $'target\nx.c'
}
link_is_replaced_and_not_followed() { (umask 0; each replaces_link); }

# The target exists or not, is the trace that is read or another
refuses_link() {
	rm -rf o && mkdir o && cp good.db o/target && ln -s target o/x.c || return
	run "$@"; local status=$?
	[ $status -ne 0 ] && cmp o/target good.db && [ -L o/x.c ] ||
		{ echo "$*: $status"; return 1; }
}
trace_is_not_made_through_a_link() { each_trace refuses_link; }

streams() {
	"$VERBATIM" "${@/o\/x.c//dev/fd/1}" 2>err | cat >piped
	[ -s piped ] || { echo "$*: nothing"; return 1; }
	echo before >out; "$VERBATIM" "${@/o\/x.c//dev/fd/1}" >>out 2>err
	is "$*: $(head -1 out)" "$*: before" || return
	mkfifo fifo; cat fifo >piped & "$VERBATIM" "${@/o\/x.c/fifo}" >out 2>err; wait
	[ -s piped ] && [ -p fifo ] || { echo "$*: nothing in the pipe"; return 1; }
	rm fifo
}
pipe_and_standard_output_are_written_to() {
	streams report -o o/x.c good.db && streams export --format perfetto -o o/x.c good.db &&
		streams emit -o o/x.c good.db && streams replay --report o/x.c good.db
}

leaves_nothing() { # kB command...
	local limit=$1; shift
	rm -rf o && mkdir o && echo old >o/x.c || return
	case $1 in trim | unpack) cp other.db o/x.c ;; esac
	cp o/x.c kept
	(ulimit -f $limit; exec "$VERBATIM" "$@") >out 2>err; local status=$?
	is "$*: $status $(ls o)" "$*: 4 x.c" && cmp o/x.c kept && is "$*: $(wc -l <err)" "$*: 1"
}
failure_leaves_what_was_there() {
	leaves_nothing 4 trim -o o/x.c good.db && leaves_nothing 4 unpack -o o/x.c good.db &&
		leaves_nothing 30 report -o o/x.c good.db &&
		leaves_nothing 4 export --format perfetto -o o/x.c good.db &&
		leaves_nothing 4 emit -o o/x.c good.db
}

# record: if it recorded nothing, the previous trace remains
leaves_before() { # status command...
	local status=$1; shift
	cp good.db t.db || return
	"$@" 2>err; is "$*: $?" "$*: $status" && cmp t.db good.db &&
		is "$*: $(echo t.db*)" "$*: t.db"
}
record() { "$VERBATIM" record -o t.db "$@"; }
empty_recording_leaves_the_trace_of_before() {
	leaves_before 0 record true && says 'is still the previous t' err &&
		leaves_before 5 record sh -c 'exit 5' && leaves_before 127 record ./nothing &&
		leaves_before 126 record "$tmp" && leaves_before 4 record -d nothing0 true &&
		leaves_before 4 eval '(ulimit -f 20; record true)'
}
recording_replaces_the_trace_of_before() {
	cp good.db t.db && record -q "$apps/guest" calls 3 &&
		is "$("$VERBATIM" sql t.db "SELECT count(*) FROM call
			WHERE verb = 'ibv_alloc_pd'")" 3 && is "$(echo t.db*)" "t.db t.db.old" &&
		cmp t.db.old good.db
}
killed_recorder_leaves_the_trace_of_before() {
	cp good.db t.db && mkfifo go || return
	"$VERBATIM" record -q -o t.db sh -c 'echo ready; read x <go' >out & local pid=$!
	await grep -q ready out || return
	kill -KILL $pid; echo >go; wait $pid 2>/dev/null
	rm go; cmp t.db.before good.db || return
	record true 2>err; cmp t.db good.db && is "$(echo t.db*)" t.db
}

needs "$apps/guest" "$VERBATIM"
try result_does_not_replace_a_trace
try trace_that_a_trace_replaces_is_kept
try end_names_what_failed
try link_is_replaced_and_not_followed
try trace_is_not_made_through_a_link
try pipe_and_standard_output_are_written_to
try failure_leaves_what_was_there
try empty_recording_leaves_the_trace_of_before
try recording_replaces_the_trace_of_before
try killed_recorder_leaves_the_trace_of_before
