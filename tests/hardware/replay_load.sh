#!/usr/bin/env bash
# Traffic on a kernel device: all transports and operations, with each kind of workers; and two
# devices that differ.
. tests/hardware/lib/machine.sh
in_machine -l rxe
cd "$tmp" || exit 1

cat >all.txt <<'END'
model 1
ranks 8
flow pairs
  transport UC
  requests 20
  rate 100/s
  send SEND_WITH_IMM 0 1
  send RDMA_WRITE 100000 1
flow to-root x2
  transport UD
  requests 20
  rate 100/s
  depth 64
  signal 1/8
  send SEND 1000 1
flow hypercube
  requests 20
  rate 100/s
  send RDMA_WRITE_WITH_IMM 5 1
  send RDMA_READ 70000 1
  send ATOMIC_FETCH_AND_ADD 8 1
  send ATOMIC_CMP_AND_SWP 8 1
END

load() { timeout 600 "$VERBATIM" replay -q -d rxe0 -f json "$@" >out 2>err; }
is_clean() {
	is "$(jq -c '[.device, .errors, .planned, .completed, .messages == .received]' out)" \
		'["rxe0",0,920,920,true]'
}

workers_may_be_one_or_many() {
	local how
	for how in "--threads serial" "--threads recorded" --processes; do
		load $how all.txt && is_clean || { echo "$how"; cat err; return 1; }
	done
}

# A request on rxe passes the kernel's network, on the software device it is a copy. Whether four
# rounds show that with confidence depends on how busy the machine is.
the_slower_device_is_not_better() {
	printf 'model 1\nranks 2\nflow 0>1\nrequests 100\nrate 100/s\nsend SEND 64 1\n' >pace.txt
	timeout 900 "$VERBATIM" versus --devices soft,rxe0 --rounds 4 -f json pace.txt >out 2>err
	[ $? -le 1 ] || { cat err; return 1; }
	jq -e '.changes[] | select(.what == "SEND 64 B p50") |
		.after > .before and (.verdict == "regression" or .verdict == "unclear")' out \
		>/dev/null || { cat out; return 1; }
}

try workers_may_be_one_or_many
try the_slower_device_is_not_better
exit $failed
