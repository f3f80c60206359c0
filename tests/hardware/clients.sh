#!/usr/bin/env bash
# The client matrix: each client of clients.list on Soft-RoCE and soft iWARP, bare, recorded with
# the same result and nothing lost or unseen, checked, replayed there and elsewhere. A client that
# fails bare has "-" with the reason. A row for each is printed, and the wrong cells.
#
# Arguments select clients by a part of their names, and only rxe0 or siw0. The whole list takes a
# quarter of an hour on two idle processors without KVM.
. tests/hardware/lib/machine.sh
. tests/hardware/lib/plain.sh
if [ -z "${VERBATIM_VM:-}" ]; then
	export CLIENTS=$* # in_machine passes no arguments
	in_machine -l both -m 2500 -t $((3 * LIMIT))
fi
in_machine
export VERBATIM_QUIET=1
ulimit -l unlimited # siw counts root's registered memory, too
list=tests/hardware/clients.list pair=tests/hardware/lib/pair
read -ra words <<<"${CLIENTS:-$*}"

# Correct findings: perftest and cmtime do not destroy all objects; cmtime destroys queues before
# the queue pairs that use them; rdma_xclient posts inline data without requesting room.
true_findings='ib_.*: LIFE-004 .*
cmtime: LIFE-00[34] .*
rdma_xserver.*: QUEUE-005 ibv_post_send.*
qperf.*: LIFE-00[34] .*
fi_pingpong.*: LIFE-00[45] .*'

# Expected failures on other devices, beyond missing features, which the replay reports first.
elsewhere_known='siw0 .* on (soft|rxe0): .*of an iWARP device are connected by librdmacm.*
rxe0 (rdma_server|rstream|riostream).* on siw0: [12] divergences?.*
rxe0 rc_pingpong -N on siw0: 2 divergences.*
rxe0 (cmtime|qperf -cm 1) on siw0: .*'

# @1: subject of the message; the last line that it printed.
reason() { # directory
	local who=client
	[[ $(cat "$1/status") == *"client 0" ]] && who=server
	echo "$(cat "$1/status"):" \
		"$(grep -v '^ *$' "$1/$who" | tail -n 1 | tr '|' ' ' | cut -c 1-90)"
}

recorded() {
	local lost coverage end
	cmp -s "$dir/bare/status" "$dir/recorded/status" || { reason "$dir/recorded"; return; }
	IFS='|' read -r lost coverage < <("$VERBATIM" sql "$dir/t.db" "SELECT
		(SELECT coalesce(sum(events), 0) FROM loss), (SELECT group_concat(what)
		FROM coverage WHERE what NOT IN ('polls', 'direct'))" 2>&1)
	if [ "$lost" != 0 ] || [ -n "$coverage" ]; then
		echo "lost $lost, unseen $coverage"
		return
	fi
	for end in server client; do
		diff <(plain "$dir/bare/$end") <(plain "$dir/recorded/$end") >"$dir/diff" ||
			{ echo "prints otherwise: $(sed 1d "$dir/diff" | tr '|\n' '  ')"; return; }
	done
	echo yes
}

# perftest listens twice with -R. A client whose second connection arrives in between is refused,
# and uses the identifier that it has destroyed. qperf's server announces its port before it listens
# there, and a refused client ends. Which end is faster varies between runs.
is_refused_too_early() {
	local ends
	case $name in
	*" -R"*) ends='client 139' ;;
	"qperf -cm"*) ends='client 1' ;;
	*) return 1 ;;
	esac
	grep -q "$ends\$" "$dir/recorded/status" && "$VERBATIM" dump "$dir/t.db" |
		grep -qE 'rdma_get_cm_event.*CM_EVENT_REJECTED|rdma_connect.*ECONNREFUSED'
}

checked() {
	local found
	"$VERBATIM" check --format json "$dir/t.db" >"$dir/found" 2>"$dir/check.err"
	[ $? -le 1 ] || { head -1 "$dir/check.err"; return; }
	found=$(jq -r '.findings[] | select(.severity == "error" or .severity == "warning") |
		.rule + " " + .where' "$dir/found" | sort -u)
	[ -n "$found" ] || { echo clean; return; }
	while read -r each; do
		grep -qxE "$true_findings" <<<"$name: $each" || { echo "false? $each"; return; }
	done <<<"$found"
	echo "true: $(cut -d' ' -f1 <<<"$found" | sort -u | tr '\n' ' ')"
}

replayed() { # on; where it was recorded, all devices are those that it used
	local out=$dir/replay.$1 said there=()
	[ "$1" = "$device" ] || there=(--device "$1")
	timeout 600 "$VERBATIM" replay --timeout 5 "${there[@]}" "$dir/t.db" >"$out" 2>"$out.err"
	case $? in
	0) echo "as recorded" ;;
	4) echo "lacks: $(sed -n 's/.*replay: needs \(.*\), which .*/\1/p' "$out.err")" ;;
	124) echo "600 s were not enough" ;;
	*)
		said=$(head -1 "$out" | tr '|' ' ')
		echo "${said:-it has ended by itself: $(head -1 "$out.err")}"
		;;
	esac
}

# A server may be killed inside a verb, which the replay leaves out.
is_in_part() { # cell
	grep -qxE 'no divergence; [0-9,]+ of [0-9,]+ calls left out: it never returned;?' <<<"$1"
}

# Is the cell of a replay on another device as expected?
is_known() { # on, cell
	case $2 in "as recorded" | "lacks: "?*) return 0 ;; esac
	is_in_part "$2" && return
	grep -qxE "$elsewhere_known" <<<"$device $name on $1: $2"
}

judge() { # how recorded, how checked, how replayed
	local wrong=
	[ "$1" = yes ] || wrong+=" recorded: $1;"
	[[ $2 == clean || $2 == true:* ]] || wrong+=" checked: $2;"
	[ "$3" = "as recorded" ] || is_in_part "$3" || wrong+=" replayed: $3;"
	for each in "${!there[@]}"; do
		is_known "$each" "${there[$each]}" || wrong+=" on $each: ${there[$each]};"
	done
	if [ -z "$wrong" ]; then ok "$device $name"; else not_ok "$device $name" "$wrong"; fi
}

row() { # how, server, client
	local how_recorded how_checked how_replayed cells each
	local -A there=()
	dir=$tmp/$device/${name//[^a-zA-Z0-9]/_}
	mkdir -p "$dir/bare" "$dir/recorded"
	if ! "$pair" "$1" "$dir/bare" "$2" "$3"; then
		rows+=("| $name | - $(reason "$dir/bare") | | | | | |")
		return
	fi
	"$VERBATIM" record -q -o "$dir/t.db" -- "$pair" "$1" "$dir/recorded" "$2" "$3" \
		>"$dir/record.out" 2>&1
	if is_refused_too_early; then
		rows+=("| $name | yes | its client was refused too early | | | | |")
		skip "$device $name" "its client came before its server listened, and was refused"
		return
	fi
	how_recorded=$(recorded) how_checked=$(checked) how_replayed=$(replayed $device)
	cells="yes | $how_recorded | $how_checked | $how_replayed"
	for each in $others; do
		there[$each]=$(replayed "$each")
		cells+=" | ${there[$each]:0:60}"
	done
	rows+=("| $name | $cells |")
	judge "$how_recorded" "$how_checked" "$how_replayed"
	rm -rf "$dir" # the machine's disk is its memory
}

is_wanted() {
	local each any=
	for each in "${words[@]}"; do
		case $each in rxe0 | siw0) continue ;; esac
		any=1
		[[ $name == *"$each"* ]] && return
	done
	[ -z "$any" ]
}

# Replacements for the device in @1.
fill_in() {
	local text=$1
	text=${text//\{DEV\}/$device} text=${text//\{GID\}/${ibv[3]}}
	text=${text//\{IP\}/$address}
	echo "${text//\{PORT\}/$port}"
}

matrix() { # device, others
	local devices how server client
	rows=() others=$2
	use_device "$1"
	unset VERBATIM_DEVICE
	while IFS='|' read -r name devices how server client <&3; do
		name=$(echo $name) server=$(echo $server) client=$(echo $client)
		[[ $devices == *${device%0}* ]] && is_wanted || continue
		port=$((port + 1))
		case $client in +*) client="$server ${client#+}" ;; esac
		row $how "$(fill_in "$server")" "$(fill_in "$client")"
	done 3< <(sed 's/#.*//; /^ *$/d' "$list")
	echo "| $device, Linux $(uname -r) | bare | recorded | checked | replayed | ${2/ / | } |"
	echo "|---|---|---|---|---|---|---|"
	printf '%s\n' "${rows[@]}"
}

[[ " ${words[*]} " == *" siw0 "* ]] || matrix rxe0 "soft siw0"
[[ " ${words[*]} " == *" rxe0 "* ]] || matrix siw0 "soft rxe0"
exit $failed
