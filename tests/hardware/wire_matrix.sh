#!/usr/bin/env bash
# The matrix of the wire: each program between two software devices, and between the software
# device and Linux's Soft-RoCE as its client and as its server. The programs are those of
# wire_matrix.list, and functions of this file. A table is printed at the end:
#
#	ok		both ends ended well
#	failed		one of them did not
#	not possible	nor do two ends on one machine, or the program cannot have two devices
#
# The reasons of what is not ok are below the table. Arguments select programs by a part of their
# names, WAYS some of the columns soft-soft, soft-rxe and rxe-soft. Soft-RoCE is in the machine's
# own namespace, the only one where it works; the software device is in two other ones, each joined
# to its peers by a cable with an MTU of 4200.
. tests/hardware/lib/machine.sh
if [ -z "${VERBATIM_VM:-}" ]; then
	export MATRIX=$* # in_machine passes no arguments
	in_machine -m 3000 -t $((3 * LIMIT))
fi
in_machine
AWAIT_SECONDS=60
unset VERBATIM_DEVICE VERBATIM_SESSIONS
export VERBATIM_SOFT_LAG=20000 # a peer may have no processor for longer than its timers
SECONDS_EACH=120 TIMED_OUT=124 # of one end of a program
read -ra words <<<"${MATRIX:-$*}"

unshare -n sleep 10000 & one=$!
unshare -n sleep 10000 & two=$!
trap 'kill $one $two; rm -rf "$tmp"' EXIT
is_apart() { [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
await is_apart $one && await is_apart $two || exit 1

stop_all() { # but those that sleep
	local pid
	for pid in $(jobs -p); do
		[ "$pid" = $one ] || [ "$pid" = $two ] || kill -KILL "$pid" 2>/dev/null
	done
}

# The ends of cables: v0 of Soft-RoCE, v1 and w1 of one software device, w2 of the other.
at_one="nsenter -t $one -n" at_two="nsenter -t $two -n"
ip link add v0 mtu 4200 type veth peer name v1 mtu 4200 netns $one
ip addr add 10.99.0.1/24 dev v0
ip link set v0 up
$at_one ip link set lo up
$at_one ip addr add 10.99.0.2/24 dev v1
$at_one ip link set v1 up
$at_one ip link add w1 mtu 4200 type veth peer name w2 mtu 4200 netns $two
$at_one ip addr add 10.98.0.1/24 dev w1
$at_one ip link set w1 up
$at_two sh -c "ip link set lo up; ip addr add 10.98.0.2/24 dev w2; ip link set w2 up"
rdma link add rxe1 type rxe netdev v0 ||
	{ echo "skip wire_matrix: no Soft-RoCE on a veth"; exit 0; }
has_gid() { gid=$(cd /sys/class/infiniband/rxe1/ports/1/gids && grep -l "ffff:0a63:0001" -- *); }
await has_gid
rxe_gid=$(sort -n <<<"$gid" | tail -n 1)

# An end: device, index of its GID, address, interface, process with its namespace.
ends="
rxe	rxe1		$rxe_gid	10.99.0.1	v0	self
soft	verbatim0	0		10.99.0.2	v1	$one
one	verbatim0	0		10.98.0.1	w1	$one
two	verbatim0	0		10.98.0.2	w2	$two"
use_end() { # name
	read -r _ device gid address interface process < <(grep "^$1	" <<<"$ends")
}

# The command's own PID is that of the job, if this is started as one.
run_at() { # end, command
	local device gid address interface process
	use_end "$1"
	shift
	[ $process != self ] || exec "$@"
	VERBATIM_SOFT_FABRIC=$tmp/fabric.$cell.$interface VERBATIM_SOFT_WIRE=$interface \
		exec nsenter -t $process -n env LD_PRELOAD=$libs/libverbatim-soft.so "$@"
}

# A program of librdmacm listens: on the software device, a port space and a backlog in the table
# of the fabric (cm_port.h).
listens_by_cm() {
	if [ $process = self ]; then rdma resource show cm_id | grep -q LISTEN; return; fi
	od -An -v -tu4 -w72 -j8 -N72000 "$tmp/fabric.$cell.$interface/cm" 2>/dev/null |
		awk '$15 && $16 { found = 1 } END { exit !found }'
}

serves() { # end, how
	local device gid address interface process hex
	use_end "$1"
	hex=$(printf ":%04X " $port)
	case $2 in
	tcp*) grep -qi "$hex.* 0A " /proc/$process/net/tcp /proc/$process/net/tcp6 ;;
	udp*) grep -qi "$hex" /proc/$process/net/udp /proc/$process/net/udp6 ;;
	cm*) listens_by_cm ;;
	joined*) grep -q 'joined dgid' "$tmp/server" ;;
	esac
}

await_server() { # end, how, PID
	local end=$((SECONDS + SECONDS_EACH))
	until serves "$1" "$2"; do
		kill -0 "$3" 2>/dev/null && [ $SECONDS -lt $end ] || return
		read -rt 0.05 <> <(:)
	done
}

fill_in() { # end, server's end, line
	local device gid address interface process to text=$3
	use_end "$2"
	to=$address
	use_end "$1"
	text=${text//\{DEV\}/$device} text=${text//\{GID\}/$gid} text=${text//\{IP\}/$to}
	text=${text//\{MINE\}/$address} text=${text//\{TMP\}/$tmp}
	echo "${text//\{PORT\}/$port}"
}

# The first error that a program reports, or its last line.
last_words() { # file
	local said
	said=$(grep -iE -m 1 'status [0-9]|fail|error|cannot|unable' "$1" ||
		grep -v '^ *$' "$1" | tail -n 1)
	said=${said//|/ }
	echo "${said:0:110}"
}

# A server and, as soon as it listens, its client; prints the reason if one fails. How: see
# lib/pair; with a + the server is told to end.
pair() { # server's end, client's end, how, server, client
	local how=$3 status=0 pid server client
	server=$(fill_in "$1" "$1" "$4") client=$(fill_in "$2" "$1" "$5")
	run_at "$1" timeout $SECONDS_EACH $server >"$tmp/server" 2>&1 & pid=$!
	await_server "$1" "$how" $pid
	(run_at "$2" timeout $SECONDS_EACH $client) >"$tmp/client" 2>&1 || status=$?
	[ "${how%+}" = "$how" ] && [ $status = 0 ] || kill $pid 2>/dev/null
	wait $pid
	case "$how $? $status" in "${how%+} 0 0" | "${how%+}+ "*" 0") return 0 ;; esac
	echo "client: $status $(last_words "$tmp/client"); server: $(last_words "$tmp/server")"
	[ $status != $TIMED_OUT ] || return $TIMED_OUT
	return 1
}

# rcopy's server has no end; what it has written must be what was to be copied.
copies_a_file() { # server's end, client's end
	head -c 3000001 /dev/urandom >"$tmp/file"
	rm -f "$tmp/copy"
	pair "$1" "$2" cm+ "rcopy" "rcopy {TMP}/file {IP}:{TMP}/copy" || return
	cmp "$tmp/file" "$tmp/copy"
}

# Ranks 0 and 1 are at the server's end, 2 and 3 at the client's. Open MPI starts its daemon there
# by an agent in place of ssh, which gets host and command.
runs_four_ranks() { # server's end, client's end
	local device gid address interface process enter each hosts=()
	[ -x "$tmp/mpi_check" ] || mpicc -O1 -o "$tmp/mpi_check" tests/e2e/mpi_check.c || return
	for each in "$2" "$1"; do
		use_end "$each"
		[ $process = self ] && enter= || enter="nsenter -t $process -n"
		cat >"$tmp/rank.$each" <<-END_OF_RANK
			#!/bin/sh
			${enter:+export LD_PRELOAD=$libs/libverbatim-soft.so}
			export VERBATIM_SOFT_FABRIC=$tmp/fabric.$cell.$interface
			export VERBATIM_SOFT_WIRE=$interface
			export UCX_NET_DEVICES=$device:1 UCX_IB_GID_INDEX=$gid
			exec "$tmp/mpi_check" 4 20
		END_OF_RANK
		cat >"$tmp/agent.$each" <<-END_OF_AGENT
			#!/bin/sh
			shift
			exec $enter sh -c "\$*"
		END_OF_AGENT
		chmod +x "$tmp/rank.$each" "$tmp/agent.$each"
		hosts+=($address)
	done
	timeout 900 $enter mpirun --allow-run-as-root --oversubscribe \
		--mca plm_rsh_agent "$tmp/agent.$2" --mca plm_rsh_no_tree_spawn 1 \
		--mca oob_tcp_if_include ${address%.*}.0/24 --mca pml ucx --mca osc ucx \
		-x UCX_TLS=rc_verbs,ud_verbs:aux,self --host ${hosts[1]}:2 -np 2 "$tmp/rank.$1" : \
		--host ${hosts[0]}:2 -np 2 "$tmp/rank.$2" >"$tmp/server" 2>&1 &&
		grep -qx good "$tmp/server" || { last_words "$tmp/server"; return 1; }
}

# rdma-core's own tests have both ends in one process, so on one device.
passes_pyverbs() { # server's end, client's end
	[ "$1" = one ] || return 77
	VERBATIM_SOFT_LAG=0 PYVERBS_SECONDS=600 VERBATIM_SOFT_FABRIC=$tmp/fabric.$cell.w1 $at_one \
		/usr/bin/python3 tests/e2e/pyverbs.py pyverbs 100 \
		"LD_PRELOAD=$libs/libverbatim-soft.so" VERBATIM_SOFT_WIRE=w1,all test_cqex \
		test_cq_events test_qpex. test_qp. test_odp test_rdmacm test_mr. test_atomic \
		test_shared_pd test_parent_domain >"$tmp/server" 2>&1
	last_words "$tmp/server"
	! grep -q '^not ok' "$tmp/server" && [ "$(grep -c '^ok' "$tmp/server")" -gt 100 ]
}

declare -A ways=([soft-soft]="one two" [soft-rxe]="soft rxe" [rxe-soft]="rxe soft")
columns=${WAYS:-soft-soft soft-rxe rxe-soft} cell=0 rows=() reasons=()

# A program that has failed, with both ends on each of its devices.
runs_on_one_machine() { # way, command
	local each others="rxe one"
	[ "$1" != soft-soft ] || others=one
	for each in $others; do
		cell=$((cell + 1))
		next_port
		(trap stop_all EXIT; "${@:2:1}" $each $each "${@:3}") || return
	done
}

# One cell of a row: $result, and a reason.
try_cell() { # way, command
	local why status
	cell=$((cell + 1)) result=ok
	next_port
	why=$(trap stop_all EXIT; "${@:2:1}" ${ways[$1]} "${@:3}" 2>&1)
	status=$?
	[ $status -ne 0 ] || { ok "$name, $1"; return; }
	result=failed
	if [ $status = 77 ]; then
		result="not possible" why="both ends are on one device"
	else
		runs_on_one_machine "$@" >"$tmp/reference" 2>&1
		case $? in
		0 | $TIMED_OUT) ;; # which is a failure, or a machine that is too busy to tell
		*) result="not possible" why="nor on one machine: $(cat "$tmp/reference")" ;;
		esac
	fi
	reasons+=("$name, $1: $result: ${why//$'\n'/; }")
	if [ "$result" = failed ]; then not_ok "$name, $1" "$why"; else skip "$name, $1" "$why"; fi
}

is_wanted() {
	local each
	[ ${#words[@]} -gt 0 ] || return 0
	for each in "${words[@]}"; do [[ $name == *"$each"* ]] && return; done
	return 1
}

row() { # name, command
	local name=$1 each cells=
	is_wanted || return
	for each in $columns; do
		try_cell $each "${@:2}"
		cells+=" $result |"
	done
	rows+=("| $name |$cells")
}

while IFS='|' read -r name how server client <&3; do
	name=$(echo $name) how=$(echo $how)
	case $client in " +"*) client="$server ${client# +}" ;; esac
	row "$name" pair $how "$server" "$client"
done 3< <(sed 's/#.*//; /^ *$/d' tests/hardware/wire_matrix.list)
row rcopy copies_a_file
row "Open MPI, 4 ranks" runs_four_ranks
row "pyverbs' tests" passes_pyverbs
echo "| server-client, Linux $(uname -r) | ${columns// / | } |"
echo "| --- |$(printf ' --- |%.0s' $columns)"
printf '%s\n' "${rows[@]}"
[ ${#reasons[@]} -eq 0 ] || printf '%s\n' "${reasons[@]}"
exit $failed
