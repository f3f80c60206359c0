#!/usr/bin/env bash
# The packets of the software device beside those of Soft-RoCE, field by field: those of
# tests/apps/cm_packets between two devices of each kind, and between one of each.
#
# EXPECT=write stores the packets of Soft-RoCE, beside which tests/e2e/wire.sh puts ours.
[ "${VERBATIM_VM:-}" != here ] ||
	{ echo "skip wire_packets: it changes the machine's routes"; exit; }
. tests/hardware/lib/machine.sh
stored=tests/e2e/wire/rxe.pcapng.gz
export EXPECT=${EXPECT:-}
in_machine -w "$PWD/tests/e2e/wire"
AWAIT_SECONDS=60
unset VERBATIM_DEVICE VERBATIM_SESSIONS
needs "$apps/cm_packets"
command -v dumpcap >/dev/null || { echo "skip wire_packets: wireshark is not installed"; exit; }
. tests/hardware/lib/ends.sh
join_ends || { echo "skip wire_packets: no Soft-RoCE on a veth"; exit 0; }

# A third cable, between Soft-RoCE and the software device.
ip link add x0 mtu 1500 type veth peer name x1 mtu 1500 netns $one
ip addr add 10.97.0.1/24 dev x0
ip link set x0 up
nsenter -t $one -n sh -c "ip addr add 10.97.0.2/24 dev x1; ip link set x1 up"
rdma link add rxe3 type rxe netdev x0 || exit 1

# The kernel makes packets of long datagrams after dumpcap has seen them, but for this limit.
nsenter -t $two -n ip link set v0 gso_max_segs 1
nsenter -t $one -n sh -c "ip link set v1 gso_max_segs 1; ip link set x1 gso_max_segs 1"

at() { # interface of a device, command
	case $1 in
	v0) soft $two "$@" ;;
	v1 | x1) soft $one "$@" ;;
	*) "${@:2}" ;;
	esac
}

capture() { # name, interface and address of the server, interface of the client
	local server capture=$tmp/$1.pcapng pid
	at $2 dumpcap -q -i $2 -w "$capture" 2>"$tmp/dumpcap" & pid=$!
	await grep -q 'File:' "$tmp/dumpcap" || return
	at $2 timeout 300 "$apps/cm_packets" listen $3 7471 >"$tmp/server" 2>&1 & server=$!
	await grep -q listening "$tmp/server" &&
		at $4 timeout 300 "$apps/cm_packets" connect $3 7471 >"$tmp/client" 2>&1 &&
		wait $server || { cat "$tmp/server" "$tmp/client"; return 1; }
	at $4 bash -c "echo the-last-packet >/dev/udp/$3/9"
	await grep -q the-last-packet "$capture" || return
	pkill -INT -P $pid || kill -INT $pid
	wait $pid
}

compare() { # name, ends on the software device, interface and address of the server, of the client
	capture $1 $3 $4 $5 && python3 tests/e2e/wire/packets.py "$tmp/$1.pcapng" "$reference" $2 \
		>"$tmp/differences" || { cat "$tmp/differences"; return 1; }
	printf '%s\n%s\n\n' "$1:" "$(cat "$tmp/differences")" >>"$tmp/table"
}

reference=$tmp/rxe.pcapng
try "Soft-RoCE's packets" capture rxe r0 $here r1
[ $failed = 0 ] || exit 1
[ "$EXPECT" != write ] || gzip -9 -n -c "$reference" >"$stored"
try "client and server" compare both client,server v0 $here v1
try "client" compare client client x0 10.97.0.1 x1
try "server" compare server server x1 10.97.0.2 x0
try "Soft-RoCE's packets are those stored" python3 tests/e2e/wire/packets.py "$reference" \
	"$stored" ""
cat "$tmp/table"
exit $failed
