#!/usr/bin/env bash
# The software device on a network: two namespaces without privileges, joined by a cable, each with
# a fabric of its own.
if [ -z "$WIRE_ALONE" ]; then
	skip() { echo "skip wire: $1"; exit 0; }
	command -v ip >/dev/null || skip "iproute2 is not installed"
	command -v ibv_rc_pingpong >/dev/null || skip "ibverbs-utils is not installed"
	unshare -Urn ip link add v0 type veth peer name v1 2>/dev/null ||
		skip "no network namespace with a cable can be had"
	WIRE_ALONE=1 exec unshare -Urn bash "$0"
fi
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS
export VERBATIM_SOFT_LAG=20000 # on a busy machine a peer may be silent for longer than its timers
here=10.99.0.1 there=10.99.0.2

# The other end is in the namespace of a process that sleeps.
unshare -n sleep 600 & other=$!
trap 'kill $other; rm -rf "$tmp"' EXIT
is_apart() { [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
await is_apart
nsenter -t $other -n ip link set lo up
ip link set lo up
ip link add v0 type veth peer name v1 netns $other
ip addr add $here/24 dev v0
ip addr add fd99::1/64 dev v0 nodad
ip link set v0 up
nsenter -t $other -n ip addr add $there/24 dev v1
nsenter -t $other -n ip addr add fd99::2/64 dev v1 nodad
nsenter -t $other -n ip link set v1 up

stop_all() { # but the one that sleeps
	local pid
	for pid in $(jobs -p); do [ "$pid" = $other ] || kill -KILL "$pid" 2>/dev/null; done
}

# Commands on the device, here and there.
one() { VERBATIM_SOFT_FABRIC=$tmp/one VERBATIM_SOFT_WIRE=${wire_one:-v0} \
	LD_PRELOAD=$libs/libverbatim-soft.so "$@"; }
two() { VERBATIM_SOFT_FABRIC=$tmp/two VERBATIM_SOFT_WIRE=${wire_two:-v1} nsenter -t $other -n \
	env LD_PRELOAD=$libs/libverbatim-soft.so "$@"; }

# A server here and a client there.
over_the_wire() { # program, options
	local server
	next_port
	one timeout 60 "$@" -p $port >"$tmp/server" 2>&1 & server=$!
	await listens $port || return
	two timeout 60 "$@" -p $port $here >"$tmp/client" 2>&1 ||
		{ pkill -P $server; wait $server; cat "$tmp/server" "$tmp/client"; return 1; }
	wait $server || { cat "$tmp/server"; return 1; }
}

the_port_is_that_of_the_interface() {
	one ibv_devinfo -v >"$tmp/out"
	says 'link_layer:.*Ethernet' "$tmp/out" && says "::ffff:$here, RoCE v2" "$tmp/out" &&
		says 'active_mtu:.*1024' "$tmp/out"
}

record_and_run_take_the_wire_as_a_device() {
	VERBATIM_SOFT_FABRIC=$tmp/one "$VERBATIM" run --device soft:v0 ibv_devinfo -v >"$tmp/out" &&
		says "::ffff:$here, RoCE v2" "$tmp/out" &&
		VERBATIM_SOFT_FABRIC=$tmp/one "$VERBATIM" record -q -o "$t" --device "soft:$here" \
			ibv_devinfo -v >"$tmp/out" && says "::ffff:$here, RoCE v2" "$tmp/out"
}

an_address_of_another_machine_is_refused() {
	! wire_one=10.99.0.7 one ibv_devinfo -v >"$tmp/out" 2>&1 &&
		says 'VERBATIM_SOFT_WIRE=10.99.0.7 is not an address of this machine' "$tmp/out" &&
		! wire_one=v2 one ibv_devinfo -v >"$tmp/out" 2>&1 &&
		says 'VERBATIM_SOFT_WIRE=v2 is not an interface of this machine' "$tmp/out"
}

crooked() { VERBATIM_SOFT_LINK_MODEL="duplicate=5% reorder=5% seed=$RANDOM" "$@"; }

# The only GID has index 0.
pingpong() { over_the_wire "ibv_$1_pingpong" -g 0 -n "$(share 100 1000)" "${@:2}"; }
perftest() { over_the_wire "$@" -F -x 0 -d verbatim0; }

addresses_of_ipv6_work() {
	local wire_one=fd99::1 wire_two=fd99::2
	pingpong rc -c && pingpong ud
}

# Loss, duplicates, reordering and corruption, on the ways there and back. The ends must not leave
# before their last acknowledge has arrived: a pingpong does.
bad() { VERBATIM_SOFT_LINK_MODEL="loss=1% duplicate=1% reorder=3% corrupt=0.5% seed=$RANDOM" "$@"; }

# It is mended before the retries are used up; or it is not, which the faults file says.
cut() { VERBATIM_SOFT_LINK_MODEL="cut=$1" "${@:2}"; }
cut_by_file() { echo "link cut=$1" >"$tmp/link"; VERBATIM_SOFT_FAULTS=$tmp/link "${@:2}"; }
a_cut_link_ends_by_the_timers() {
	local VERBATIM_SOFT_LAG=0
	! cut_by_file 1ms+60s pingpong rc >"$tmp/out" &&
		says 'retry counter exceeded (12)' "$tmp/out"
}

packets() { awk '$1 == "v0:" { print $3 }' /proc/net/dev; }
has_traffic() { [ "$(packets)" -gt $((before + 300)) ]; }

# The other end is killed, while it receives only.
a_dead_end_runs_out_of_retries() {
	local server client before VERBATIM_SOFT_LAG=0
	next_port
	one ib_write_bw -F -x 0 -d verbatim0 -n 1000000 -p $port >"$tmp/server" 2>&1 & server=$!
	await listens $port || return
	before=$(packets)
	two timeout 60 ib_write_bw -F -x 0 -d verbatim0 -n 1000000 -p $port $here \
		>"$tmp/client" 2>&1 & client=$!
	await has_traffic || return
	pkill -KILL -P $server; kill -KILL $server
	! wait $client && says 'Failed status 12' "$tmp/client"
}

# The client tells the number of its queue pairs, which the server needs.
pingpong_of_xrc() {
	over_the_wire ibv_xsrq_pingpong -g 0 -m 1024 -n "$(share 50 500)" "$@"
}

# The processes of a fabric share the port. What one has not handed over when it ends is lost, so
# these send again, and the longer pair ends alone.
two_pairs_at_once() {
	local first servers clients
	next_port; first=$port
	one timeout 60 ibv_rc_pingpong -g 0 -e -n 50 -p $first >"$tmp/server1" 2>&1 & servers=$!
	next_port
	one timeout 60 ibv_rc_pingpong -g 0 -e -n 500 -p $port >"$tmp/server2" 2>&1 & servers+=" $!"
	await listens $first && await listens $port || return
	two timeout 60 ibv_rc_pingpong -g 0 -e -n 50 -p $first $here >"$tmp/client1" 2>&1 &
	clients=$!
	two timeout 60 ibv_rc_pingpong -g 0 -e -n 500 -p $port $here >"$tmp/client2" 2>&1 &&
		wait $clients && wait ${servers% *} && wait ${servers#* } ||
		{ cat "$tmp"/server[12] "$tmp"/client[12]; return 1; }
}

packets_of_one_machine_stay_in_memory() {
	local before server
	next_port
	before=$(packets)
	one timeout 60 ibv_rc_pingpong -g 0 -n 50 -p $port >"$tmp/server" 2>&1 & server=$!
	await listens $port || return
	one timeout 60 ibv_rc_pingpong -g 0 -n 50 -p $port localhost >"$tmp/client" 2>&1 &&
		wait $server && [ "$(packets)" -lt $((before + 50)) ] # others may be on their way
}

# Somebody here listens to the wire.
has_wire() { grep -q ':12B7 ' /proc/net/udp /proc/net/udp6; }

# A server here and a client there, by librdmacm. The server listens soon after it has the wire.
connected() { # server, client
	local pid
	one timeout 60 $1 >"$tmp/server" 2>&1 & pid=$!
	await has_wire || return
	until two timeout 60 $2 >"$tmp/client" 2>&1; do
		says 'error 8' "$tmp/client" || { cat "$tmp/server"; return 1; }
	done
	wait $pid || { cat "$tmp/server"; return 1; }
}

files_are_copied() {
	local pid
	head -c 300001 /dev/urandom >"$tmp/file"
	one timeout 60 rcopy >"$tmp/server" 2>&1 & pid=$!
	await has_wire || return
	two timeout 60 rcopy "$tmp/file" "$here:$tmp/copy" && pkill -P $pid && ! wait $pid &&
		cmp "$tmp/file" "$tmp/copy"
}

# Somebody has the wire, and another port.
nobody_listens() {
	local pid
	one timeout 60 rping -s -a $here >"$tmp/server" 2>&1 & pid=$!
	await has_wire || return
	! two timeout 60 rping -c -C 1 -a $here -p 7999 >"$tmp/client" 2>&1 &&
		says 'REJECTED, error 8' "$tmp/client" && pkill -P $pid && ! wait $pid
}

# A member here and a sender there, once the member has the group's socket.
group() { # address of the group, as in /proc/net, the ends'
	local pid
	one timeout 60 mckey -m $1 -b $3 -C 5 >"$tmp/server" 2>&1 & pid=$!
	await grep -q "$2:12B7" /proc/net/udp /proc/net/udp6 || return
	two timeout 60 mckey -m $1 -b $4 -s -C 5 >"$tmp/client" 2>&1 && wait $pid ||
		{ cat "$tmp/server" "$tmp/client"; return 1; }
}

group_of_ipv6() {
	local wire_one=fd99::1 wire_two=fd99::2
	group ff15::77 000015FF000000000000000077000000 $wire_one $wire_two
}

# A server takes malformed management datagrams, and then serves a client.
malformed_mads_harm_nothing() {
	local pid
	next_port
	one timeout 60 rping -s -P -p $port -a $here >"$tmp/server" 2>&1 & pid=$!
	await has_wire || return
	nsenter -t $other -n python3 tests/e2e/wire/mads.py $there $here "$(share 500 20000)" \
		$RANDOM $port &&
		two timeout 60 rping -c -C 3 -a $here -p $port >"$tmp/client" 2>&1 ||
		{ cat "$tmp/server" "$tmp/client"; return 1; }
	kill -0 $pid && pkill -P $pid && ! wait $pid
}

# Clients that choose the device, its address and their transport themselves.
ucx() { # transports, options
	local server
	next_port
	export UCX_TLS=$1 UCX_NET_DEVICES=verbatim0:1
	one timeout 60 ucx_perftest -p $port >"$tmp/server" 2>&1 & server=$!
	await listens $port || return
	two timeout 60 ucx_perftest -p $port -n "$(share 50 1000)" -w 5 "${@:2}" $here \
		>"$tmp/client" 2>&1 && wait $server ||
		{ cat "$tmp/server" "$tmp/client"; return 1; }
}
fabrics() { # endpoint, provider
	local server
	next_port
	one timeout 60 fi_pingpong -p "$2" -e $1 -I "$(share 5 50)" -c -B $port \
		>"$tmp/server" 2>&1 & server=$!
	await listens $port || return
	two timeout 60 fi_pingpong -p "$2" -e $1 -I "$(share 5 50)" -c -P $port $here \
		>"$tmp/client" 2>&1 && wait $server ||
		{ cat "$tmp/server" "$tmp/client"; return 1; }
}

# Open MPI starts its daemon there by an agent in place of ssh, which gets host and command. Its
# other way, the component openib, needs InfiniBand here: Debian's has no rdmacm.
a_job_has_four_ranks_over_two_networks() {
	cat >"$tmp/agent" <<-END
		#!/bin/sh
		shift
		export VERBATIM_SOFT_FABRIC=$tmp/two VERBATIM_SOFT_WIRE=v1
		exec nsenter -t $other -n sh -c "\$*"
	END
	chmod +x "$tmp/agent"
	mpicc -O1 -o "$tmp/mpi_check" tests/e2e/mpi_check.c || return
	VERBATIM_SOFT_FABRIC=$tmp/one VERBATIM_SOFT_WIRE=v0 timeout 300 mpirun \
		--allow-run-as-root --oversubscribe -np 4 --host $here:2,$there:2 \
		--mca plm_rsh_agent "$tmp/agent" --mca plm_rsh_no_tree_spawn 1 \
		--mca oob_tcp_if_include 10.99.0.0/24 --mca pml ucx --mca osc ucx \
		-x LD_PRELOAD="$libs/libverbatim-soft.so" -x UCX_TLS=rc_v,self \
		-x UCX_NET_DEVICES=verbatim0:1 "$tmp/mpi_check" 4 100 >"$tmp/out" 2>&1 &&
		grep -qx good "$tmp/out" || { cat "$tmp/out"; return 1; }
}

# Both ends of these are in one process.
pyverbs_passes_over_the_wire() {
	local VERBATIM_SOFT_LAG=0
	VERBATIM_SOFT_FABRIC=$tmp/one /usr/bin/python3 tests/e2e/pyverbs.py pyverbs 100 \
		"LD_PRELOAD=$libs/libverbatim-soft.so" VERBATIM_SOFT_WIRE=v0,all test_cqex \
		test_cq_events test_qpex. test_qp. test_odp test_rdmacm test_mr. test_atomic \
		test_shared_pd test_parent_domain >"$tmp/out"
	is "failed" "$(grep '^not ok' "$tmp/out")" "" && [ "$(grep -c '^ok' "$tmp/out")" -gt 100 ]
}

lossy() { VERBATIM_SOFT_LINK_MODEL="loss=10% duplicate=10% seed=3" "$@"; }

congested() { VERBATIM_SOFT_LINK_MODEL="ecn=100%" "$@"; }

# What dumpcap has not taken from the kernel when it is stopped is lost: so a packet comes last.
stop_capture() { # process, file
	echo the-last-packet >/dev/udp/$there/9 && await grep -q the-last-packet "$2" &&
		kill -INT $1 && wait $1
}

# The kernel makes packets of long datagrams after dumpcap has seen them, but for this limit.
packets_are_well_formed() {
	local pid
	ip link set v0 gso_max_segs 1 || return
	nsenter -t $other -n ip link set v1 gso_max_segs 1 || return
	dumpcap -q -i v0 -w "$tmp/cap.pcapng" 2>"$tmp/dumpcap" & pid=$!
	await grep -q 'File:' "$tmp/dumpcap" || return
	pingpong rc -n 20 && pingpong ud -n 20 && perftest ib_atomic_lat -n 10 &&
		perftest ib_read_lat -n 10 -s 5000 && perftest ib_write_bw -n 5 -s 100003 &&
		wire_one=fd99::1 wire_two=fd99::2 pingpong uc -n 20 && pingpong_of_xrc -n 5 &&
		congested pingpong ud -n 2 &&
		connected "rping -s -C 1 -a $here" "rping -c -C 1 -a $here" || return
	stop_capture $pid "$tmp/cap.pcapng" || return
	tshark -r "$tmp/cap.pcapng" -T fields -e _ws.malformed -e ip.dsfield.ecn \
		-Y '_ws.malformed || ip.dsfield.ecn == 3' >"$tmp/fields" 2>/dev/null
	is "malformed, marked" "$(awk -F'\t' '$1 { bad++ } $2 == 3 { marked++ }
		END { print bad + 0, (marked > 0) }' "$tmp/fields")" "0 1" || return
	python3 tests/e2e/wire/icrc.py "$tmp/cap.pcapng" >"$tmp/icrc" || return
	read -r good bad_ones <"$tmp/icrc"
	is "bad ICRCs" "$bad_ones" 0 && [ "$good" -gt 200 ]
}

# The command, here and there.
at_one() { VERBATIM_SOFT_FABRIC=$tmp/one timeout 120 "$VERBATIM" "$@"; }
at_two() { VERBATIM_SOFT_FABRIC=$tmp/two nsenter -t $other -n timeout 120 "$VERBATIM" "$@"; }

recorded_by_both() { # program
	local server
	next_port
	at_one record -q --payload=full -o "$tmp/one.db" --device soft:v0 -- "$@" -p $port \
		>"$tmp/server" 2>&1 & server=$!
	await listens $port || return
	at_two record -q --payload=full -o "$tmp/two.db" --device soft:v1 -- "$@" -p $port $here \
		>"$tmp/client" 2>&1 && wait $server ||
		{ cat "$tmp/server" "$tmp/client"; return 1; }
}

# Each half by a replay of its own; then one half, whose peer is made.
traces_replay_over_the_wire() {
	local listener at before
	recorded_by_both ibv_rc_pingpong -g 0 -n 20 -s 3000 || return
	export VERBATIM_REPLAY_KEY=0123456789abcdef0123456789abcdef
	before=$(packets)
	at_one replay --device soft:v0 --listen $here:0 "$tmp/one.db" >"$tmp/listen" \
		2>"$tmp/listen.err" & listener=$!
	await grep -q 'waiting for the other replay' "$tmp/listen.err" || return
	at=$here:$(sed -n 's/.*waiting for the other replay at .* port //p' "$tmp/listen.err")
	at_two replay --device soft:v1 --peer "$at" "$tmp/two.db" >"$tmp/peer" 2>&1 &&
		wait $listener && says '^no divergence' "$tmp/listen" &&
		says '^no divergence' "$tmp/peer" ||
		{ head -n 20 "$tmp/listen" "$tmp/peer" "$tmp/listen.err"; return 1; }
	[ "$(packets)" -gt $((before + 60)) ] || { echo "they have not used the wire"; return 1; }
	before=$(awk '$1 == "lo:" { print $3 }' /proc/net/dev)
	at_one replay --device soft:v0,all "$tmp/one.db" >"$tmp/out" 2>&1 &&
		says '^no divergence' "$tmp/out" && says '^made 1 peer' "$tmp/out" &&
		[ "$(awk '$1 == "lo:" { print $3 }' /proc/net/dev)" -gt $((before + 60)) ] ||
		{ cat "$tmp/out"; return 1; }
}

# Requests: acknowledges depend on how many packets arrive together.
requests_of() {
	tshark -r "$1" -Y 'infiniband && !infiniband.aeth.syndrome' -T fields \
		-einfiniband.bth.{opcode,psn,destqp,se,p_key,padcnt} -e infiniband.immdt \
		-e infiniband.deth.srcqp -e data.data 2>/dev/null
}
exported_packets_are_those_captured() {
	local pid
	ip link set v0 gso_max_segs 1 && nsenter -t $other -n ip link set v1 gso_max_segs 1 ||
		return
	dumpcap -q -i v0 -w "$tmp/cap.pcapng" 2>"$tmp/dumpcap" & pid=$!
	await grep -q 'File:' "$tmp/dumpcap" || return
	recorded_by_both ibv_rc_pingpong -g 0 -n 10 -s 3001 || return
	stop_capture $pid "$tmp/cap.pcapng" || return
	"$VERBATIM" export -f pcapng -o "$tmp/one.pcapng" "$tmp/one.db" &&
		"$VERBATIM" export -f pcapng -o "$tmp/two.pcapng" "$tmp/two.db" || return
	{ requests_of "$tmp/one.pcapng"; requests_of "$tmp/two.pcapng"; } | sort >"$tmp/exported"
	requests_of "$tmp/cap.pcapng" | sort -u >"$tmp/captured" # without what was sent again
	is "packets" "$(wc -l <"$tmp/exported")" 60 &&
		is "others" "$(diff "$tmp/exported" "$tmp/captured" | cut -c 1-200 | head -n 6)" ""
}

# Field by field, with the reasons of packets.py; tests/hardware/wire_packets.sh has stored them.
packets_are_those_of_soft_roce() {
	local pid server VERBATIM_SOFT_LAG=2000
	ip link set v0 gso_max_segs 1 && nsenter -t $other -n ip link set v1 gso_max_segs 1 ||
		return
	dumpcap -q -i v0 -w "$tmp/cap.pcapng" 2>"$tmp/dumpcap" & pid=$!
	await grep -q 'File:' "$tmp/dumpcap" || return
	one timeout 60 "$apps/cm_packets" listen $here 7471 >"$tmp/server" 2>&1 & server=$!
	await grep -q listening "$tmp/server" &&
		two timeout 60 "$apps/cm_packets" connect $here 7471 >"$tmp/client" 2>&1 &&
		wait $server && stop_capture $pid "$tmp/cap.pcapng" ||
		{ cat "$tmp/server" "$tmp/client"; return 1; }
	python3 tests/e2e/wire/packets.py "$tmp/cap.pcapng" tests/e2e/wire/rxe.pcapng.gz \
		client,server >"$tmp/out" || { cat "$tmp/out"; return 1; }
	is "packets" "$(tail -n 1 "$tmp/out")" "86 packets"
}

# docs/examples: namespaces in place of containers, and the fields of the others.
the_example_runs() {
	timeout 60 sh "$root/docs/examples/two-networks.sh" ibv_rc_pingpong -g 0 -n 20 \
		>"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
	is "ends" "$(grep -c '^20 iters' "$tmp/out")" 2
}
the_example_ends_if_its_server_does() {
	! timeout 60 sh "$root/docs/examples/two-networks.sh" no-such-program >"$tmp/out" 2>&1 &&
		[ "$(grep -c 'no-such-program' "$tmp/out")" -lt 10 ] # fifty attempts otherwise
}
manifests_are_complete() {
	python3 - "$root/docs/examples" <<-'END'
		import sys, yaml
		read = lambda name: yaml.safe_load_all(open(f'{sys.argv[1]}/{name}'))
		compose, = read('wire-compose.yml')
		service, server, client = read('wire-pods.yml')
		commands = [each['command'] for each in compose['services'].values()]
		pods = [pod['spec']['containers'][0] for pod in (server, client)]
		commands += [' '.join(container['command']) for container in pods]
		assert all('--device soft:eth0' in each for each in commands), commands
		assert service['spec']['selector'] == server['metadata']['labels']
		assert service['metadata']['name'] in commands[3]
	END
}

try the_port_is_that_of_the_interface
try_in_turn the_example_runs
try_in_turn the_example_ends_if_its_server_does
try_in_turn manifests_are_complete
try record_and_run_take_the_wire_as_a_device
try an_address_of_another_machine_is_refused
try "RC" pingpong rc -c
try "RC, with events" pingpong rc -e
try "RC, long messages" pingpong rc -n 3 -s 3000001 -c
try_in_turn "UC" pingpong uc
try_in_turn "UD" pingpong ud
try_in_turn "shared receive queue" pingpong srq
try addresses_of_ipv6_work
try two_pairs_at_once
try packets_of_one_machine_stay_in_memory
try_in_turn "XRC" pingpong_of_xrc
try_in_turn traces_replay_over_the_wire
try_in_turn "a link that is cut and mended" cut 1ms+100ms pingpong rc
try_in_turn a_cut_link_ends_by_the_timers
if command -v rping >/dev/null; then
	try "librdmacm" connected "rping -s -C 3 -a $here" "rping -c -C 3 -v -a $here"
	try_in_turn "librdmacm, several" connected ucmatose "ucmatose -s $here"
	try_in_turn "librdmacm, datagrams" connected udaddy "udaddy -s $here"
	try_in_turn "librdmacm, sockets" connected "rstream -S 10000 -C 20" \
		"rstream -S 10000 -C 20 -s $here"
	try_in_turn files_are_copied
	try nobody_listens
	try_in_turn malformed_mads_harm_nothing
	try_in_turn "multicast" group 239.9.9.9 090909EF $here $there
	try_in_turn group_of_ipv6
	try "librdmacm, with losses" lossy connected "rping -s -C 3 -a $here" \
		"rping -c -C 3 -v -a $here"
else
	skip "librdmacm" "rdmacm-utils is not installed"
fi
if command -v ib_write_bw >/dev/null; then
	try "RDMA write" perftest ib_write_bw -n 5 -s 300001
	try_in_turn "RDMA read" perftest ib_read_bw -n 5 -s 300001
	try_in_turn "atomics" perftest ib_atomic_bw -n 20
	try_in_turn "RDMA write of XRC" perftest ib_write_bw -c XRC -n 5 -s 30001
	try_in_turn "RDMA read of XRC" perftest ib_read_bw -c XRC -n 5 -s 30001
	try_in_turn a_dead_end_runs_out_of_retries
	try "sends on a bad link" bad perftest ib_send_bw -b -n 5 -s 100001 -u 14
	try "reads on a bad link" bad perftest ib_read_bw -n 5 -s 100001 -u 14
	try_in_turn "writes on a bad link" bad perftest ib_write_bw -n 5 -s 100001 -u 14
	try_in_turn "atomics on a bad link" bad perftest ib_atomic_bw -n 100 -u 14
else
	skip "RDMA" "perftest is not installed"
fi
try "RC, without loss on a bad link" crooked pingpong rc -c -n 50
if command -v ucx_perftest >/dev/null; then
	try_in_turn "UCX over RC" ucx rc_v -t tag_lat
	try_in_turn "UCX over RC, RDMA" ucx rc_v -t ucp_get -s 40000
	try_in_turn "UCX over UD" ucx ud_v -t tag_lat
	try_in_turn "UCX over UD, with losses" bad ucx ud_v -t tag_lat
else
	skip "UCX" "ucx-utils is not installed"
fi
if command -v fi_pingpong >/dev/null; then
	try_in_turn "libfabric, messages" fabrics msg verbs
	try_in_turn "libfabric, datagrams" fabrics dgram verbs
	try_in_turn "libfabric, reliable datagrams" fabrics rdm "verbs;ofi_rxm"
else
	skip "libfabric" "libfabric-bin is not installed"
fi
if [ -n "${LONG:-}" ]; then
	try pyverbs_passes_over_the_wire
	if command -v mpicc >/dev/null; then try a_job_has_four_ranks_over_two_networks
	else skip "a job of four ranks" "Open MPI is not installed"; fi
fi
if command -v dumpcap >/dev/null && command -v tshark >/dev/null; then
	try packets_are_well_formed
	try_in_turn exported_packets_are_those_captured
	try_in_turn packets_are_those_of_soft_roce
else
	skip "packets are well-formed" "wireshark is not installed"
fi
exit $failed
