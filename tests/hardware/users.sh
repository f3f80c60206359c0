#!/usr/bin/env bash
# Kernel devices as an ordinary user: recorded events, memory limits, an inaccessible node, and
# programs of root that change to such a user.
. tests/hardware/lib/machine.sh
in_machine -l both
cd "$tmp" || exit 1
chmod 755 . && chmod 1777 sessions && mkdir -m 777 n
export VERBATIM_DEVICE=rxe0 # the first device, which programs use
other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
limited() { other bash -c "ulimit -l $1; shift; exec \"\$@\"" limited "$@"; }
ask() { "$VERBATIM" check --format json "$1" | jq -r "$2"; }

whole() { is lost "$("$VERBATIM" sql "$1" 'SELECT coalesce(sum(events), 0) FROM loss')" 0; }

ordinary_user_records() {
	other "$VERBATIM" record -q -o n/t.db "$apps/port_events" stay </dev/null >out 2>&1 ||
		{ cat out; return 1; }
	whole n/t.db && is "mode and owner" "$(stat -c '%a %u' n/t.db)" '600 65534' &&
		is findings "$(ask n/t.db '.findings | length')" 0 &&
		other "$VERBATIM" replay n/t.db >out 2>&1 || { cat out; return 1; }
}

limit_of_memory_is_found() {
	limited 2048 "$VERBATIM" record -q -o n/l.db "$apps/env_001" || return
	whole n/l.db && ask n/l.db '.findings[] | .rule, .message' >out
	says ENV-001 out &&
		says '1 MiB pinned by 1 region, RLIMIT_MEMLOCK is 2 MiB, and it had no CAP_IPC' out
}

below_the_limit_nothing_is_found() {
	limited 2048 "$VERBATIM" record -q -o n/l.db "$apps/env_001" good || return
	is findings "$(ask n/l.db '.findings | length')" 0
}

doctor_tells_the_limit_before() {
	limited 1024 "$VERBATIM" doctor >out
	says '^problem *memlock *can register only 1.05 MB.*LimitMEMLOCK' out
}

closed_node_is_reported() {
	local node
	node=$(cd /sys/class/infiniband_verbs && dirname "$(grep -l rxe0 -- */ibdev)")
	node=/dev/infiniband/$node
	chmod 600 "$node"
	other "$VERBATIM" record -o n/c.db "$apps/posts" >out 2>&1
	is status $? 2 &&
		says "rxe0 cannot be opened by this user: $node has mode 0600" out &&
		"$VERBATIM" check n/c.db | tr -s '\n ' '  ' >out
	says 'ENOENT: .*this user may not open the node' out &&
		other "$VERBATIM" doctor >out; says "^problem *node *$node" out &&
		other "$VERBATIM" replay n/t.db >out 2>&1; is "replay's status" $? 4 &&
		says "rxe0 cannot be opened by this user" out
	local status=$?
	chmod 666 "$node"
	return $status
}

is_recorded_to_its_end() { # when it drops its privileges
	"$VERBATIM" record -o "$t" "$apps/drops_user" "$1" 4 >out 2>&1 || { cat out; return 1; }
	whole "$t" && ! grep 'not recorded' out &&
		is "threads of each process" "$(sql "SELECT process || ':' || count(*) FROM thread
			GROUP BY process")" $'1:5\n2:1' &&
		is findings "$(ask "$t" '.findings | length')" 0
}
rights_dropped_after_the_first_verb() { is_recorded_to_its_end late; }
rights_dropped_before_the_first_verb() { is_recorded_to_its_end early; }

program_begun_as_another_user_is_reported() {
	"$VERBATIM" record -o "$t" setpriv --reuid=65534 --clear-groups "$apps/posts" >out 2>&1
	says '1 program was not recorded: user 65534 cannot enter' out
}

# the kernel's soft iWARP does not check CAP_IPC_LOCK
limit_binds_root_on_siw() {
	rdma link delete rxe0 || return
	export VERBATIM_DEVICE=siw0
	(ulimit -l 0; "$VERBATIM" record -q -o "$t" "$apps/posts" >out 2>&1)
	ask "$t" '.findings[] | .rule, .message' >out
	says ENV-001 out && says 'RLIMIT_MEMLOCK is 0 bytes, which siw applies to all users' out &&
		(ulimit -l 64; "$VERBATIM" doctor >out)
	says '^note *port *siw0 is siw, which applies RLIMIT_MEMLOCK even with root' out
}

try ordinary_user_records
try limit_of_memory_is_found
try below_the_limit_nothing_is_found
try doctor_tells_the_limit_before
try closed_node_is_reported
try rights_dropped_after_the_first_verb
try rights_dropped_before_the_first_verb
try program_begun_as_another_user_is_reported
try limit_binds_root_on_siw
exit $failed
