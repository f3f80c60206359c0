# The first screen of check for real programs that are used wrongly: it gives the cause.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

mkfifo over || exit 1
tidy() { rm -f t.db out printed faults; }
screen() { # the first 24 lines, as one
	"$VERBATIM" check t.db 2>/dev/null | head -24 | tr -s ' \n' ' ' >out
}
records() { "$VERBATIM" record -q -o t.db "$@" >printed 2>&1; }

# A server and a client that wait forever: they are killed some time after the client has printed
# that everything is sent.
both() { # server... -- client...
	records bash -c '. "$0"
		port=$1 server=(); shift
		while [ "$1" != -- ]; do server+=("$1"); shift; done
		shift
		"${server[@]}" & a=$!
		until listens $port || ! kill -0 $a; do pause; done; no_pause
		"$@" & b=$!
		read -r <over
		kill -TERM $a $b; wait' "$root/tests/e2e/lib/listens.sh" "$port" "$@" &
	local recorder=$!
	await grep -q "^ [0-9]*  *20  " printed && read -rt 0.5 <> <(:)
	echo >over; wait $recorder
	screen
}
datagrams_that_the_grh_makes_too_long() {
	next_port
	both ib_send_bw -c UD -p $port -s 64 -n 20 -- \
		ib_send_bw -c UD -p $port -s 1024 -n 20 localhost
	says "qp1 has sent 20 datagrams to this queue pair, which received 0" out &&
		says "the last, of 1024 bytes and the 40 of the GRH, did not fit" out
}

ends_of_another_transport() {
	next_port
	both ib_send_bw -c RC -p $port -n 20 -- ib_send_bw -c UC -p $port -n 20 localhost
	says "their attributes do not match: qp_type IBV_QPT_UC and IBV_QPT_RC" out
}

# failures between the verbs
unconnected="none of its recorded verbs failed; qp1 was still in INIT, without an ibv_modify_qp()"
port_that_is_taken() {
	next_port
	python3 -c "
import signal, socket
s = socket.socket(socket.AF_INET6)
s.bind(('::', $port))
s.listen()
signal.pause()" & local pid=$!
	await listens $port || return
	records ibv_rc_pingpong -p $port
	kill $pid
	screen && says "$unconnected" out
}

server_that_is_not_there() {
	next_port
	records ibv_rc_pingpong -p $port localhost
	screen && says "$unconnected" out
}

refused_for_lack_of() { # verb, expected text, program...
	echo "verb=$1 n=1 errno=ENOMEM" >faults
	local said=$2
	shift 2
	VERBATIM_SOFT_FAULTS=$tmp/faults records "$@"
	screen && says "= ENOMEM: $said" out && ! says "often" out
}

# for a process without a limit of pinned memory
lack_of_memory() {
	refused_for_lack_of create_cq "not because of RLIMIT_MEMLOCK, which" ibv_rc_pingpong &&
		refused_for_lack_of create_qp "not because of RLIMIT_MEMLOCK" ibv_rc_pingpong &&
		refused_for_lack_of reg_mr "not because of RLIMIT_MEMLOCK, which" ibv_rc_pingpong &&
		refused_for_lack_of post_recv "not a full queue: 0 of 500 receives of qp1 were" \
			ibv_rc_pingpong
}

# a helper around a verb fails at one line for all of its callers
failures_of_one_line_are_one_if_alike() {
	tidy
	records "$apps/helper" && screen &&
		says "_PKEY_INDEX change_qp < forget_index (helper.c:[0-9]*) 2 times" out &&
		says "_PORT change_qp < forget_port (helper.c:[0-9]*) hung calls" out &&
		says "STATE-001 .* change_qp < forget_index (helper.c:[0-9]*) 2 times" out &&
		says "STATE-001 .* change_qp < forget_port (helper.c:[0-9]*) " out
}

python_frames_are_reported_as_missing() {
	tidy
	records python3 -c '
import ctypes
lib = ctypes.CDLL("libibverbs.so.1")
lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
lib.ibv_open_device.argtypes = [ctypes.c_void_p]
lib.ibv_open_device.restype = ctypes.c_void_p
lib.ibv_open_device(lib.ibv_get_device_list(None)[0])' && screen &&
		says "LIFE-004 .* < Python (its frames are not recorded)" out &&
		"$VERBATIM" check t.db >out; says "(frames of Python code are not recorded)" out &&
		"$VERBATIM" dump -k t.db >out &&
		says "by .* < Python (its frames are not recorded)$" out &&
		"$VERBATIM" dump t.db "$("$VERBATIM" sql t.db \
			"SELECT event(thread, n) FROM call WHERE stack LIMIT 1")" >out &&
		says "(frames of Python code are not recorded)" out
}

try failures_of_one_line_are_one_if_alike
try python_frames_are_reported_as_missing
for each in ib_send_bw ibv_rc_pingpong; do
	command -v $each >/dev/null || { skip "real programs" "$each is not installed"; exit; }
done
try datagrams_that_the_grh_makes_too_long
try ends_of_another_transport
try port_that_is_taken
try server_that_is_not_there
ulimit -l unlimited 2>/dev/null
if [ "$(ulimit -l)" = unlimited ] || [ "$(id -u)" = 0 ]; then try lack_of_memory
else skip "lack of memory" "the limit of pinned memory cannot be lifted"; fi
