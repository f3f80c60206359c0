#!/usr/bin/env bash
# Faults on kernel devices: a program that survives all of them sees the same on Soft-RoCE, on soft
# iWARP and on the software device, of each row of docs/FAULTS.md that the recorder makes; what
# differs on siw is known. A row for each rule is printed, in the words of
# tests/apps/cm_failures.c. Then failures that were recorded on one device are replayed on all
# three, and torture runs on Soft-RoCE.
#
# FAULTS=TEXT selects rules by a part of them; FAULTS=replay, replay:TEXT or torture: only these.
# The first part takes ten minutes on two idle processors without KVM, the replays about as long.
. tests/hardware/lib/machine.sh
in_machine -l both
cd "$tmp" || exit 1

rules=(
	"verb=create_qp errno=ENOMEM"
	"verb=modify_qp errno=EINVAL"
	"verb=reg_mr errno=ENOMEM"
	"verb=create_cq n=2 errno=EINVAL"
	"verb=create_comp_channel errno=EMFILE"
	"verb=post_send n=2 errno=ENOMEM"
	"verb=post_recv n=3 errno=EINVAL"
	"verb=req_notify_cq errno=EIO"
	"verb=poll_cq errno=EIO"
	"verb=dereg_mr errno=EBUSY"
	"verb=destroy_cq errno=EBUSY"
	"verb=reg_mr delay=1s"
	"opcode=SEND n=3 status=RETRY_EXC_ERR"
	"opcode=RDMA_WRITE n=3 status=REM_ACCESS_ERR"
	"opcode=RDMA_WRITE n=2 status=LOC_PROT_ERR"
	"opcode=SEND n=4 status=WR_FLUSH_ERR"
	"opcode=RECV n=3 status=LOC_LEN_ERR"
	"opcode=SEND n=2 late=1s"
	"opcode=RECV n=2 late=1s"
	"opcode=RDMA_WRITE n=2 never"
	"opcode=RECV n=2 never"
	"opcode=SEND n=2 delay=1s"
	"opcode=SEND n=3 event=QP_FATAL"
	"opcode=SEND n=3 event=QP_ACCESS_ERR"
	"opcode=SEND n=3 event=CQ_ERR"
	"opcode=RDMA_WRITE n=2 event=COMM_EST"
	"opcode=SEND n=2 event=PORT_ERR"
	"verb=post_recv n=2 event=DEVICE_FATAL"
	"opcode=RECV n=2 event=COMM_EST"
	"cm=ADDR_RESOLVED becomes=ADDR_ERROR"
	"cm=ROUTE_RESOLVED becomes=ROUTE_ERROR"
	"cm=ESTABLISHED becomes=REJECTED"
	"cm=ESTABLISHED becomes=UNREACHABLE"
	"cm=ESTABLISHED n=2 becomes=CONNECT_ERROR"
	"cm=ESTABLISHED becomes=DISCONNECTED"
	"cm=ROUTE_RESOLVED delay=1s"
	"opcode=SEND n=3 disconnect"
	"opcode=SEND n=3 kill"
)

# What differs on siw, and why (docs/FAULTS.md, "On kernel devices"): a rule, and a regular
# expression of what the program sees there.
flush="Work Request Flushed Error" fatal="local work queue catastrophic error"
differs=(
	"opcode=SEND n=3 status=RETRY_EXC_ERR"
	"send: transport retry counter exceeded; client: 1 requests are not completed; $fatal; \
round 3 failed; write: $flush; receive: $flush"
	"opcode=RDMA_WRITE n=3 status=REM_ACCESS_ERR"
	"write: remote access error; $fatal; round 3 failed"
	"opcode=RDMA_WRITE n=2 status=LOC_PROT_ERR"
	"write: local protection error; $fatal; round 2 failed"
	"opcode=SEND n=4 status=WR_FLUSH_ERR"
	"send: $flush; client: 1 requests are not completed; $fatal; round 4 failed; \
write: $flush; receive: $flush"
	"opcode=RECV n=3 status=LOC_LEN_ERR"
	"(write: .*; )?(receive: local length error; )?local access violation work queue error; \
($fatal; )?round 3 failed(; receive: local length error)?"
	"opcode=SEND n=3 event=QP_FATAL"
	"client: 2 requests are not completed; $fatal; round 3 failed; \
client: 2 requests are not completed; receive: $flush"
	"opcode=SEND n=3 event=QP_ACCESS_ERR"
	"client: 2 requests are not completed; local access violation work queue error; \
round 3 failed; client: 2 requests are not completed; receive: $flush"
	"opcode=SEND n=3 disconnect"
	"client: 2 requests are not completed; round 3 failed; \
client: 2 requests are not completed; receive: $flush"
	"opcode=SEND n=3 event=CQ_ERR"
	"client: 2 requests are not completed; CQ error; round 3 failed; \
client: 2 requests are not completed; receive: $flush"
)

wanted_on_siw() { # rule, what it sees on the software device
	local i
	for ((i = 0; i < ${#differs[@]}; i += 2)); do
		[ "${differs[i]}" != "$1" ] || { echo "${differs[i + 1]}"; return; }
	done
	sed 's/client: state [0-9]*\(; \)\?//; s/; $//' <<<"$2" # siw does not report states
}

see() { # device, address, rule
	echo "$3" >rule
	timeout 120 "$VERBATIM" run --device "$1" --faults rule -- "$apps/cm_failures" "$2" \
		>out 2>&1
	echo "status $?" >>out
	grep -v -e '^round .* done' -e '^end$' -e '^status 0' out | paste -sd '|' | sed 's/|/; /g'
}

# "=": as on the software device
print_row() { # rule, seen on the software device, on rxe, on siw
	local each row="$1 | $2"
	for each in "${@:3}"; do
		[ "$each" != "$2" ] || each='='
		row+=" | $each"
	done
	echo "$row" >>table
}

is_seen_everywhere() { # rule
	local soft rxe siw
	soft=$(see soft 127.0.0.1 "$1") rxe=$(see rxe0 "$rxe_at" "$1") \
		siw=$(see siw0 "$siw_at" "$1")
	print_row "$1" "$soft" "$rxe" "$siw"
	is "on rxe0" "$rxe" "$soft" || return
	grep -Exq "$(wanted_on_siw "$1" "$soft")" <<<"$siw" || { echo "on siw0: $siw"; return 1; }
}

use_device rxe0; rxe_at=$address
use_device siw0; siw_at=$address
unset VERBATIM_DEVICE
: >table
[[ ${FAULTS:-} =~ ^(replay|torture) ]] || try "without a fault" is_seen_everywhere ""
for rule in "${rules[@]}"; do
	[[ $rule != *"${FAULTS:-}"* ]] || try "everywhere: $rule" is_seen_everywhere "$rule"
done
cat table

# Replay t.db on a device: its status and the number of failures that were injected.
echo "query_qp *qp_state * * siw does not report states" >accepted
replay() { # device, OPTION...
	timeout 120 "$VERBATIM" replay -q --device "$1" --timeout 2s --tolerate accepted \
		--report report "${@:2}" t.db >out 2>&1
	echo "$? $(jq .counts.faults report)"
}

# What the device does not repeat is known: docs/FAULTS.md, "On kernel devices".
is_repeated() { # device, address, rule, number of failures, status without them, on siw
	local each wanted
	echo "$3" >rule
	timeout 120 "$VERBATIM" record -q --device "$1" --faults rule -o t.db -- \
		"$apps/cm_failures" "$2" >out 2>&1
	if [ "$1" = siw0 ]; then set -- "$@" siw0; else set -- "$@" rxe0 soft siw0; fi
	for each in "${@:7}"; do
		[ "$each" = siw0 ] && [ "$6" != = ] && wanted=$6 || wanted="0 $4"
		is "on $each" "$(replay "$each" --faults recorded)" "$wanted" ||
			{ cat out; return 1; }
	done
	is "without them" "$(replay "$1" --faults none)" "$5 0"
}
repeated=(
	"verb=reg_mr errno=EPERM" 1 1 =
	"verb=rdma_connect errno=EINVAL" 1 1 "1 0" # its peer cannot be synthesised
	"verb=poll_cq n=2 errno=EIO" 1 1 =
	"opcode=RDMA_WRITE n=2 errno=ENOMEM" 1 1 "1 1" # its state, as a consequence
	"opcode=SEND n=3 status=RETRY_EXC_ERR vendor_err=0x81" 1 1 "1 1" # not flushed
	"opcode=SEND n=3 event=QP_FATAL" 1 1 "1 2" # not flushed
	"opcode=SEND n=3 disconnect" 1 1 "1 1" # not flushed
	"cm=ADDR_RESOLVED becomes=ADDR_ERROR" 1 1 =
	"cm=ESTABLISHED n=2 becomes=CONNECT_ERROR" 1 1 =
	"opcode=SEND n=2 late=50ms" 0 0 =
	"opcode=SEND n=2 delay=300ms" 1 0 =
)
if [[ ${FAULTS:-replay} == replay* ]]; then
	part=${FAULTS:+${FAULTS#replay}}
	for ((i = 0; i < ${#repeated[@]}; i += 4)); do
		[[ ${repeated[i]} == *"${part#:}"* ]] || continue
		try "recorded on rxe, replayed on all: ${repeated[i]}" is_repeated \
			rxe0 "$rxe_at" "${repeated[@]:i:4}"
	done
	for ((i = 0; i < ${#repeated[@]}; i += 4)); do
		[[ ${repeated[i]} == *"${part#:}"* ]] || continue
		[[ ${repeated[i]} == verb=rdma_connect* ]] && there="1 0" || there='='
		try "recorded on siw, replayed there: ${repeated[i]}" is_repeated \
			siw0 "$siw_at" "${repeated[@]:i:3}" "$there"
	done
fi

torture() { timeout 1200 "$VERBATIM" torture --device rxe0 -j 1 "$@" >out 2>err; }

paths_are_tried() {
	torture --only ibv_create_ --timeout 60s -- "$apps/error_paths" forgotten-region good
	is status $? 0 && says "[0-9] handled" out || { cat out err; return 1; }
}

mistake_is_found() {
	torture --only "ibv_create_qp() fails" --timeout 60s -- "$apps/error_paths" forgotten-region
	is status $? 1 && says "^leak .*ibv_create_qp() fails" out && says LIFE-004 out ||
		{ cat out err; return 1; }
}

if [[ torture = "${FAULTS:-torture}" ]]; then
	try "torture on rxe finds a mistake" mistake_is_found
	try "torture on rxe: its twin is fine" paths_are_tried
	cat out
fi
exit $failed
