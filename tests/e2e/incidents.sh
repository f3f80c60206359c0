# Mistakes of real programs: the first 24 lines of `verbatim check` show the cause, also to a
# novice.
#
# Each is a small program, incident_02.c and so on, which names its source. Without the mistake
# there is no finding.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

# The file of faults for those that need the device's help; the corrected twin needs none.
declare -A faults=(
	[14]="opcode=SEND lose"
	[15]="verb=modify_qp n=3 errno=ETIMEDOUT"
	[23]="opcode=RDMA_WRITE_WITH_IMM status=RETRY_EXC_ERR vendor_err=0x81"
	[24]="opcode=RDMA_WRITE n=2 status=REM_OP_ERR vendor_err=0x89"
)
declare -A links=([14]=roce [15]=roce) timers=([21]=real)

record() { # number good|bad; programs with mistakes may crash or hang for two seconds
	VERBATIM_SOFT_LINK=${links[$1]} VERBATIM_SOFT_TIMERS=${timers[$1]} VERBATIM_SOFT_STRICT=1 \
		"$VERBATIM" record -q --check -o t.db -- "$apps/incident_$1" "$2" >/dev/null 2>&1
}

# in the first 24 lines, wherever they are broken
is_told() { # number, expected text
	local number=$1 wanted screen
	shift
	printf '%s\n' "${faults[$number]}" >faults
	VERBATIM_SOFT_FAULTS=${faults[$number]:+$PWD/faults} record "$number" bad
	screen=$("$VERBATIM" check t.db | head -24 | tr -s ' \n' '  ')
	for wanted; do
		[[ $screen =~ $wanted ]] || { echo "no '$wanted' in: $screen"; return 1; }
	done
	"$VERBATIM" check t.db >/dev/null
	is "exit $?" "exit 1" && same_as_live t.db
}

is_silent() {
	record "$1" good || { echo "the program failed"; return 1; }
	"$VERBATIM" check --format json t.db >t.json
	is "exit $?" "exit 0" && # what the device counted is no finding
		is "$(jq -c '[.findings[] | select(.severity != "information").rule]' t.json)" \
			"[]" &&
		is "$(jq -c .first_errors t.json)" "[]"
}

incident() { # number, expected text
	try "$1 is told" is_told "$@"
	try "$1 corrected is silent" is_silent "$1"
}

incident 01 "LIFE-007" "close_connection" "qp4 was destroyed inside a batch of completions of cq3"
incident 02 "LIFE-002" "cq1 was destroyed by ibv_destroy_cq\(\) at" "drop_connection"
incident 03 "LIFE-001" "cq3 was destroyed by ibv_destroy_cq"
incident 04 "IBV_WC_LOC_PROT_ERR" "lkey 0x2 = mr1 of pd1; its ibv_dereg_mr [0-9:]* began"
incident 05 "E LIFE-001 .* cq2 was destroyed by ibv_destroy_cq\(\) at .*ibv_poll_cq\(\) used it"
incident 06 "COMPL-002" "moved to ERR at .* destroyed with 0 .*sends and 4 receives outstanding"
incident 07 "COMPL-002" "destroyed with 2 .*sends and 0 receives outstanding" "lose_connection"
incident 08 "COMPL-002" "destroyed with 2 .*sends and 0 receives outstanding" "close_connection"
incident 09 "ibv_dealloc_pd\(pd1\) = EBUSY: pd1 is in use by mr3, created by thread 1" "LIFE-003"
incident 10 "ibv_destroy_cq\(cq2\) = EBUSY: cq2 is in use by qp2" "run_stream" "LIFE-003" "LIFE-004"
incident 11 "ibv_destroy_cq\(cq2\) had not returned [0-9.]+ s later" "COMPL-003" \
	"1 completion event of cq2 had been retrieved but not acknowledged"
incident 12 "COMPL-004" "1 completion waited in cq2 for .*: cq2 was armed at .* none of its"
incident 13 "COMPL-004" "4 completions waited in cq2 for .*polled at .*, but not until empty"
incident 14 "RETRY_EXC" "STATE-008" \
	"from fe80::.* \(RoCE v1, sgid_index 0 of port 1\), which is link-local"
incident 15 "ibv_modify_qp\(qp1 -> RTR\) = ETIMEDOUT: .* did not respond" "STATE-008"
incident 16 "MKEY-004" "is mr3 of pd2 of process 1, and qp2 of that process is in pd1"
incident 17 "MKEY-004" "mr2 of pd1, whose lkey it is"
incident 18 "rkey 0x8003 = mr2 of pd1 of process 1; its ibv_dereg_mr [0-9:]* began" "MKEY-004"
incident 19 "IBV_WC_LOC_PROT_ERR" "mr1 of pd1: 4096 bytes .* the access ends 1 byte past its end"
incident 20 "receive uses 4136 bytes" "mr2 of pd1: .* the access ends 40 bytes past its end"
incident 21 "STATE-007" "3 sends of qp1 .* took a multiple of 655.36 ms" "min_rnr_timer of qp2"
incident 22 "RNR_RETRY_EXC" "IBV_WR_SEND" "its receive queue was empty" \
	"rnr_retry 0" "STATE-006"
incident 23 "RETRY_EXC" "RDMA_WRITE_WITH_IMM"
incident 24 "REM_OP_ERR" "4 flushed after it" "COMPL-007"
incident 25 "QUEUE-004" "8 of 8 outstanding, 0 of them signalled"
incident 26 "QUEUE-003" "cq1 has 16 entries"
incident 27 "FORK-004" "not whole pages of 4096 bytes"
incident 28 "ENV-001" "RLIMIT_MEMLOCK is 64 KiB"
