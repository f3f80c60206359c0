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
exit $failed
