#!/usr/bin/env bash
# Errors that no traffic causes, recorded and replayed: they recur with --faults recorded, and are
# one cause each without. Errors that the traffic causes are not injected.
. tests/e2e/lib/try.sh
export VERBATIM_QUIET=1
unset VERBATIM_DEVICE
needs "$apps/faulted" "$apps/sudden"
cd "$tmp" || exit 1

# record RULES PROGRAM...: into t.db, on a device that fails so
record() {
	printf '%b\n' "$1" >rules
	VERBATIM_SOFT_FAULTS=$tmp/rules timeout 60 "$VERBATIM" record --device soft -o t.db -- \
		"${@:2}" >out 2>&1 || { echo "recording: $(tail -1 out)"; false; }
}

replay() {
	timeout 120 "$VERBATIM" replay --device soft --timeout 1s --report report "$@" t.db \
		>out 2>&1
}

# As recorded: nothing differs, and N errors or events were injected
again() { # N
	replay || { cat out; return 1; }
	is caused "$(jq .counts.faults report)" "$1"
}

errors() { "$VERBATIM" sql t.db "SELECT count(*) FROM wc WHERE status NOT IN (0, 5)"; }

# Without injection: N causes
apart() { # N
	replay --faults none
	is "exit status" $? 1 && is causes "$(jq .divergences report)" "$1" &&
		is caused "$(jq .counts.faults report)" 0
}

# A round of the program ends with the first request that fails, so the N-th rule is for the N-th
# round.
statuses() { # STATUS...
	local rules= n=0 each
	for each in "$@"; do
		n=$((n + 1))
		rules+="n=$n status=$each vendor_err=0x5$n\n"
	done
	record "$rules" "$apps/faulted" || return
	is statuses "$(errors)" $# && again $# && apart $#
}

every_local_status() {
	statuses LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR MW_BIND_ERR LOC_ACCESS_ERR \
		LOC_RDD_VIOL_ERR GENERAL_ERR
}
every_remote_status() {
	statuses BAD_RESP_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR \
		RNR_RETRY_EXC_ERR REM_INV_RD_REQ_ERR REM_ABORT_ERR
}
every_other_status() {
	statuses INV_EECN_ERR INV_EEC_STATE_ERR FATAL_ERR RESP_TIMEOUT_ERR
}
try every_local_status
try every_remote_status
try every_other_status

# rules, number to be injected, number of causes without
fault() {
	record "$1" "$apps/faulted" && again "$2" && apart "$3"
}
try "vendor error code of a fault" eval 'record "n=4 status=RETRY_EXC_ERR vendor_err=0x81" \
	"$apps/faulted" && again 1 && ! grep -q vendor out'
try "no memory for a region" fault 'verb=reg_mr n=3 errno=ENOMEM' 1 1
try "call that changes a queue pair" fault 'verb=modify_qp n=10 errno=ENOMEM' 1 1
try "send that is refused" fault 'verb=post_send n=3 errno=ENOMEM' 1 1
try "receive that is refused" fault 'verb=post_recv n=3 errno=EIO' 1 1
try "packets lost until retries are exceeded" fault lose 8 8
try "receiver that is never ready" fault rnr 8 8
try "event of the device" fault 'n=4 event=DEVICE_FATAL' 1 1
try "event of the port" fault 'n=4 event=SM_CHANGE' 1 1
try "port that goes down and up" eval 'record "n=5 port=down for=30ms" "$apps/faulted" &&
	replay && [ "$(jq .counts.faults report)" -ge 2 ]'

# a queue pair fails, visible only by its flushed requests and, perhaps, an event
sudden() {
	record '' "$apps/sudden" "$@" && again 3
	local status=$?
	replay --faults none
	[ $? -eq 1 ] && return $status
}
try "queue pair that fails by itself" sudden
try "queue pair that fails, and its event before" sudden first
try "queue pair that fails, and its event after" sudden last

# one of two programs fails; the fabric's processes are in the order in which they open the device
two_programs() { # END THAT FAILS, RULE
	record "$2" "$root/tests/e2e/replay/left_behind" $1 ibv_rc_pingpong -n 300 || return
	is errors "$(errors)" 1 && replay && replay --threads serial || { cat out; return 1; }
}
if command -v ibv_rc_pingpong >/dev/null; then
	try two_programs client 'process=1 n=100 status=RETRY_EXC_ERR vendor_err=0x81'
	try two_programs server 'process=0 n=77 status=REM_ACCESS_ERR'
	try two_programs client 'process=1 n=50 status=LOC_QP_OP_ERR'
else
	skip "two programs" "ibv_rc_pingpong is not installed"
fi

# invisible faults are not injected: a late packet, a retransmitted one
late() {
	record 'n=3 delay=2ms\nn=6 lose\nn=9 rnr' "$apps/faulted" && again 0
}
try late

# each of its failures has a cause in the trace
traffic_fails_by_itself() {
	${CC:-cc} -o errors "$root/tests/replay/errors.c" -libverbs -lpthread || return
	record '' ./errors && is "statuses of its own" "$("$VERBATIM" sql t.db \
		"SELECT count(DISTINCT status) > 4 FROM wc")" 1 && again 0
}
try traffic_fails_by_itself

# What was recorded on any device is repeated on any device, by the recorder's library: here the
# software device stands for one that makes no faults itself.
repeat_by_recorder() { # --faults|VERBATIM_SOFT_FAULTS, rules, number of failures, program...
	printf '%b\n' "$2" >rules
	local by=(env "$1=$tmp/rules") faults=()
	[ "$1" != --faults ] || by=() faults=(--faults rules)
	"${by[@]}" timeout 60 "$VERBATIM" record --device soft "${faults[@]}" -o t.db -- "${@:4}" \
		>out 2>&1 || { tail -1 out; return 1; }
	replay --maker recorder || { cat out; return 1; }
	is "at least" "$(jq ".counts.faults >= $3" report)" true || return
	replay --maker recorder --faults none
	is "without them" "$? $(jq .counts.faults report)" "1 0"
}
remote=
for status in REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR; do
	remote+="n=$((++nth)) status=$status vendor_err=0x5$nth\n"
done
for maker in --faults VERBATIM_SOFT_FAULTS; do
	try "any device: statuses by $maker" repeat_by_recorder $maker "$remote" 2 "$apps/faulted"
	try "any device: a call by $maker" repeat_by_recorder $maker \
		"verb=reg_mr n=3 errno=ENOMEM" 1 "$apps/faulted"
	try "any device: a post by $maker" repeat_by_recorder $maker \
		"verb=post_send n=3 errno=ENOMEM" 1 "$apps/faulted"
	try "any device: an event by $maker" repeat_by_recorder $maker "n=4 event=DEVICE_FATAL" 1 \
		"$apps/faulted"
done
try "any device: a receive" repeat_by_recorder --faults "opcode=RECV n=2 status=LOC_LEN_ERR" 1 \
	"$apps/faulted"
try "any device: a queue pair" repeat_by_recorder --faults '' 3 "$apps/sudden"
try "any device: two programs" repeat_by_recorder VERBATIM_SOFT_FAULTS \
	'process=0 n=77 status=REM_ACCESS_ERR' 1 "$root/tests/e2e/replay/left_behind" server \
	ibv_rc_pingpong -n 300

# What the recorder made, of each row of docs/FAULTS.md, in a program of librdmacm.
repeat_by_both() { # rule, number of failures, exit status without them
	local maker
	echo "$1" >rules
	timeout 60 "$VERBATIM" record --device soft --faults rules -o t.db -- "$apps/cm_failures" \
		127.0.0.1 >out 2>&1 || { tail -1 out; return 1; }
	for maker in device recorder; do
		replay --maker $maker || { cat out; return 1; }
		is "by the $maker" "$(jq .counts.faults report)" "$2" || return
	done
	replay --faults none
	is "without them" "$? $(jq .counts.faults report)" "$3 0"
}
made=("verb=reg_mr errno=EPERM" 1 "verb=dereg_mr n=1 errno=EBUSY" 1
	"verb=rdma_connect errno=EINVAL" 1 "verb=rdma_accept errno=ENOMEM" 1
	"verb=req_notify_cq n=3 errno=EIO" 1 "verb=poll_cq n=2 errno=EIO" 1
	"opcode=RDMA_WRITE n=2 errno=ENOMEM" 1 "verb=post_recv n=3 errno=EPERM" 1
	"opcode=SEND n=3 event=QP_FATAL" 1 "opcode=SEND n=3 event=CQ_ERR" 1
	"opcode=SEND n=3 disconnect" 1
	"cm=ADDR_RESOLVED becomes=ADDR_ERROR" 1 "cm=ROUTE_RESOLVED becomes=ROUTE_ERROR" 1
	"cm=ESTABLISHED becomes=REJECTED" 2 "cm=ESTABLISHED n=2 becomes=CONNECT_ERROR" 1
	"cm=ESTABLISHED becomes=DISCONNECTED" 2)
for ((i = 0; i < ${#made[@]}; i += 2)); do
	try_in_turn "made by the recorder: ${made[i]}" repeat_by_both "${made[@]:i:2}" 1
done
# a connection without an answer is no divergence, nor is what depends on time only
try_in_turn "made by the recorder: no answer" repeat_by_both \
	"cm=ESTABLISHED n=1 becomes=UNREACHABLE" 1 0
for rule in "opcode=SEND n=2 late=50ms" "cm=ROUTE_RESOLVED delay=50ms" "opcode=RECV n=2 never"; do
	try_in_turn "made by the recorder: $rule" repeat_by_both "$rule" 0 0
done

a_delay_is_made_again() {
	repeat_by_both "opcode=SEND n=2 delay=300ms" 1 0 || return
	for maker in device recorder; do
		replay --maker $maker && is "$maker" \
			"$(jq '.seconds.replayed >= 0.3' report)" true || return
	done
}
try_in_turn a_delay_is_made_again

# its state, too, which the recorder cannot change
port_that_goes_down() {
	record "n=5 port=down for=30ms" "$apps/faulted" && replay --maker recorder ||
		{ cat out; return 1; }
	is "at least 2" "$(jq '.counts.faults >= 2' report)" true
}
try_in_turn port_that_goes_down

# the report is that of the software device's faults
same_as_by_the_device() {
	record "n=3 status=RETRY_EXC_ERR vendor_err=0x81" "$apps/faulted" || return
	replay && jq 'del(.. | .seconds?, .took_ns?)' report >by_device
	replay --maker recorder && jq 'del(.. | .seconds?, .took_ns?)' report | diff by_device -
}
# The software device is the machine's: the command starts itself again with libverbatim.so only.
on_a_device_of_the_machine() {
	"$VERBATIM" run --device soft -- "$VERBATIM" replay --device verbatim0 "$@" t.db >out 2>&1
}
that_of_the_machine_too() {
	record "n=3 status=RETRY_EXC_ERR vendor_err=0x81" "$apps/faulted" || return
	on_a_device_of_the_machine --faults recorded; is status $? 0 &&
		says "^1 recorded error .* was injected" out || return
	on_a_device_of_the_machine --faults recorded --processes; is status $? 0 || return
	on_a_device_of_the_machine --faults none; is status $? 1
}
try "any device: that of the machine, too" that_of_the_machine_too
try "by whom they are injected makes no difference" same_as_by_the_device
exit $failed
