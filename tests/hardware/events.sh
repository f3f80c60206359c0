#!/usr/bin/env bash
# Asynchronous events of kernel devices: a port that goes down and up again, a device that is
# removed.
. tests/hardware/lib/machine.sh
in_machine -l both
cd "$tmp" || exit 1
# Programs use the first device, rxe0, and siw0 after its removal.
net_of() { rdma -j link show "$1"/1 | jq -r '.[0].netdev'; }
net_rxe0=$(net_of rxe0) net_siw0=$(net_of siw0)
whole() { is lost "$(sql 'SELECT coalesce(sum(events), 0) FROM loss')" 0; }
ask() { "$VERBATIM" check --format json "$t" | jq -r "$1"; }

await() { # file, line: until the program, $pid, has printed it
	while ! grep -q "$2" "$1"; do
		kill -0 $pid 2>/dev/null || { cat "$1"; return 1; }
		sleep 0.05
	done
}

# Its port goes down and up; its output is in file $1
through_an_outage() { # file, program, arguments
	local pid err=0 net=$net_rxe0
	case $* in *idle) net=$net_siw0 ;; esac
	timeout 600 "${@:2}" >"$1" 2>&1 & pid=$!
	await "$1" ready && ip link set "$net" down && await "$1" 'port error' || err=1
	[ "$net" = "$net_siw0" ] || await "$1" '^write.*error' || err=1
	ip link set "$net" up
	wait $pid && [ $err = 0 ] || { cat "$1"; return 1; }
}

# A GID that is removed with the interface's address causes a separate event, or none
result() { grep -v -e 'GID table' -e '^verbatim:' "$1"; }

outage_is_recorded() { # more arguments of the program
	through_an_outage bare "$apps/port_events" 9 "$@" &&
		through_an_outage recorded "$VERBATIM" record -q -o "$t" "$apps/port_events" 9 \
			"$@" &&
		is "result" "$(result recorded)" "$(result bare)" && whole || return
	is "events" "$("$VERBATIM" dump --format json --verb get_async_event "$t" | grep -c .)" \
		"$(grep -c -e 'GID table' -e '^port' recorded)"
}

outage_of_rxe() { VERBATIM_DEVICE=rxe0 outage_is_recorded; }
outage_of_siw() { VERBATIM_DEVICE=siw0 outage_is_recorded idle; }

outage_is_the_cause() {
	is "first error" "$(ask '.first_errors[0].status')" IBV_WC_LOC_QP_OP_ERR &&
		ask '.first_errors[0].port_then' >out &&
		says '^port 1 was down: IBV_EVENT_PORT_ERR 1:[0-9]*, .* before$' out
}

# no verb causes the events: they are divergences, and are not waited for
outage_is_replayed() {
	timeout 600 "$VERBATIM" replay -d rxe0 --timeout 700 "$t" >out 2>&1
	is status $? 1 && says 'recorded port error, replayed no event' out &&
		says 'recorded port active, replayed no event' out &&
		"$VERBATIM" replay --device soft "$t" >out || { cat out; return 1; }
}

# These drivers cannot revoke their device: the kernel waits until the program has ended.
deletion_waits_and_tells_nothing() { # device, the first
	local -x VERBATIM_DEVICE=$1
	local pid deletes told
	timeout 600 "$VERBATIM" record -q -o "$t" "$apps/port_events" 9 idle >out 2>&1 & pid=$!
	await out ready || return
	rdma link delete "$1" & deletes=$!
	until grep -q ib_uverbs_remove_one /proc/$deletes/stack; do
		kill -0 $deletes || return
	done
	told=$(result out)
	pkill -KILL -x port_events
	wait $deletes || { echo "rdma link delete: status $?"; return 1; }
	wait $pid
	is "what the program was told" "$told" ready && whole || return
	"$VERBATIM" check "$t" | tr -s ' \n' ' ' >line
	says 'by SIGKILL at .* its last verb, ibv_get_async_event()' line &&
		says 'fatal events (0)' line
}

try outage_of_rxe
try outage_is_the_cause
try outage_is_replayed
try "deletion of rxe waits and tells nothing" deletion_waits_and_tells_nothing rxe0
try outage_of_siw
try "deletion of siw waits and tells nothing" deletion_waits_and_tells_nothing siw0
exit $failed
