#!/usr/bin/env bash
# The speed of the software device on a wire, and of Linux's Soft-RoCE on the same kind of wire:
# each program with both, in turn, and a table (lib/ends.sh).
#
# Each program ends after 100 s at the latest, so the list does, too. The table has the medians of
# ROUNDS. They are judged with VERBATIM_VM_ACCEL=kvm only: in an emulated machine an instruction
# takes any time.
[ "${VERBATIM_VM:-}" != here ] || { echo "skip wire_speed: it changes the machine's routes"; exit; }
. tests/hardware/lib/machine.sh
export ROUNDS=${ROUNDS:-1}
in_machine -t $((600 + 900 * ROUNDS))
AWAIT_SECONDS=60
unset VERBATIM_DEVICE VERBATIM_SESSIONS
PATH=${PATH#*/quick:} # perftest as it is, whose rates are right
. tests/hardware/lib/ends.sh
join_ends || { echo "skip wire_speed: no Soft-RoCE on a veth"; exit 0; }

gid_of() { # device, address in hexadecimal digits
	(cd /sys/class/infiniband/$1/ports/1/gids && grep -l "ffff:$2" -- * | sort -n | tail -1)
}
rxe_server="-d rxe1 -x $(gid_of rxe1 0a63:0001)" rxe_client="-d rxe2 -x $(gid_of rxe2 0a63:0002)"
soft_server="-d verbatim0 -x 0" soft_client=$soft_server

at_rxe_server() { "$@"; }
at_rxe_client() { "$@"; }
at_soft_server() { soft $two v0 "$@"; }
at_soft_client() { soft $one v1 "$@"; }

serves() { at_${1}_server ss -ltnH "sport = :$port" | grep -q .; }

# An emulated machine may take longer for an answer than the timer of the default, 67 ms: 1 s.
both=(-F -u 18)

# The figure in a column of the row of that size; nothing if the program fails.
measure() { # device, column, program, options
	local of=$1 column=$2 pid server=${1}_server client=${1}_client size
	size=$(sed -n 's/.* -s \([0-9]*\).*/\1/p' <<<"$*")
	shift 2
	next_port
	at_${of}_server timeout 100 "$@" "${both[@]}" ${!server} -p $port >"$tmp/server" 2>&1 &
	pid=$!
	await serves $of || { kill $pid; cat "$tmp/server" >&2; return 1; }
	at_${of}_client timeout 100 "$@" "${both[@]}" ${!client} -p $port $here \
		>"$tmp/client" 2>&1 ||
		{ kill $pid 2>/dev/null; tail -n 3 "$tmp/server" "$tmp/client" >&2; return 1; }
	wait $pid
	awk -v size="$size" -v column=$column '$1 == size { print $column }' "$tmp/client"
}

median() { sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }

is_emulated() { [ "${VERBATIM_VM_ACCEL:-tcg}" = tcg ]; }

# Least and most of what the software device may have, as multiples of Soft-RoCE's.
compare() { # name, least, most, column, program, options
	local name=$1 least=$2 most=$3 round each rxe soft ratio
	shift 3
	: >"$tmp/rxe.figures"
	: >"$tmp/soft.figures"
	for ((round = 0; round < ROUNDS; round++)); do
		for each in rxe soft; do
			measure $each "$@" >>"$tmp/$each.figures" || return
		done
	done
	rxe=$(median <"$tmp/rxe.figures")
	soft=$(median <"$tmp/soft.figures")
	ratio=$(awk "BEGIN { print $soft / $rxe }")
	printf '%-28s %10s %10s %8.2f\n' "$name" "$rxe" "$soft" "$ratio" >>"$tmp/table"
	is_emulated || awk "BEGIN { exit !($ratio >= $least && $ratio <= $most) }" ||
		{ echo "$ratio times Soft-RoCE's, not $least to $most"; return 1; }
}

MIB=1048576 ANY=1000000
printf '%-28s %10s %10s %8s\n' "" Soft-RoCE verbatim0 ratio >"$tmp/table"
try "sends of 1 MiB" compare "sends of 1 MiB, MB/s" 1.5 $ANY 4 ib_send_bw -s $MIB -n 5 -Q 1
try "writes of 1 MiB" compare "writes of 1 MiB, MB/s" 1.5 $ANY 4 ib_write_bw -s $MIB -n 5 -Q 1
try "latency of sends of 8 B" compare "sends of 8 B, us" 0 1 5 ib_send_lat -s 8 -n 100
try "latency of writes of 8 B" compare "writes of 8 B, us" 0 1 5 ib_write_lat -s 8 -n 100
cat "$tmp/table"
exit $failed
