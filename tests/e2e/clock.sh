# Two recordings with deliberately different clocks, on one time line. The true relation is known:
# both count the same ticks, with the start and rate that table meta of each trace has.
. tests/e2e/lib/try.sh
needs "$apps/far_end"
cd "$tmp" || exit 1

# Each end is recorded separately: lib/both starts this for the server, and for the client.
cat >apart <<'END'
#!/bin/bash
last=${!#}
[ "$last" = localhost ] && { t=b.db; export VERBATIM_TEST_CLOCK=$APART; } || t=a.db
exec "$VERBATIM" record -q -o $t -- "$@"
END
chmod +x apart

# The error of a time at the begin and at the end of b.db, the printed error, the error of the
# drift, its printed error, and the least error of a clock without drift.
cat >compare.py <<'END'
import json, sqlite3, sys

def read_meta(path):
    return dict(sqlite3.connect(path).execute("SELECT key, value FROM meta"))

a, b = read_meta('a.db'), read_meta('b.db')
rate = {id(m): int(m['clock_mult']) / 2 ** int(m['clock_shift']) for m in (a, b)}
first, second = json.load(sys.stdin)['traces']
length, drift = int(b['duration']), rate[id(b)] / rate[id(a)] - 1
apart = (int(b['clock_start']) - int(a['clock_start'])) * rate[id(a)]
found = 1 / (1 + second['fast_ppm'] / 1e6)
off = max(abs(second['offset'] - first['offset'] - apart + time * (found - 1 / (1 + drift)))
          for time in (0, length))
drift_off, none = abs(second['fast_ppm'] - drift * 1e6), abs(drift) * length / 2
wanted = sys.argv[1:]
print(f"{second['clock']}: {length / 1e9:.1f} s, off by {off:.0f} of {second['error']} ns, "
      f"{drift_off:.3f} of {second['fast_error_ppm']:.3f} ppm; without drift {none:.0f} ns")
assert second['clock'] == 'estimated', 'not estimated'
assert off <= second['error'], 'the time is not within the error'
assert drift_off <= second['fast_error_ppm'], 'the drift is not within the error'
assert abs(drift * 1e6 - float(sys.argv[1])) < 20, 'the clocks are not set apart'
assert 'drift' not in wanted or none > second['error'], 'a clock without drift would do'
END

away() { sqlite3 b.db "UPDATE meta SET value = 'another' WHERE key = 'recorder_boot'"; }
are_on_one_line() { # seconds, ppm, "drift" if it must be found, program and arguments
	local seconds=$1 ppm=$2 what=$3
	shift 3
	rm -f a.db b.db
	APART="$seconds $ppm" "$both" ./apart "$@" >/dev/null 2>err || { cat err; return 1; }
	says "for a test, this recording's clock is $seconds $ppm" err && away
	"$VERBATIM" check --format json a.db b.db >check.json
	python3 compare.py "$ppm" $what <check.json
}

a_pingpong() { are_on_one_line "$1" "$2" "" ibv_rc_pingpong -g 0 -n 2000; }
messages() { are_on_one_line "$1" "$2" drift "$apps/far_end" long; }
latencies() { are_on_one_line "$1" "$2" "" ib_send_lat -F -s 8 -n 20000; }
writes() { are_on_one_line "$1" "$2" "" ib_write_bw -F -s 1024 -n 5000; }
one_way() { are_on_one_line "$1" "$2" "" ib_send_bw -F -s 4096 -n 3000 -Q 1 -r 16 -t 16; }
deep_one_way() { are_on_one_line "$1" "$2" "" ib_send_bw -F -s 4096 -n 5000; }
offset_and_drift_are_reported() {
	"$VERBATIM" check a.db b.db >out
	says "b.db: its clock is 10.* s ahead and [0-9.]* +- [0-9.]* ppm fast, +- " out
}
what_is_no_clock_is_refused() {
	VERBATIM_TEST_CLOCK=ten "$VERBATIM" record -q -o no.db -- true 2>err
	is $? 4 && says "VERBATIM_TEST_CLOCK is 'ten'" err
}

try messages 10 50
try_in_turn offset_and_drift_are_reported
try_in_turn messages -3.5 -80
try_in_turn latencies 10 50
try_in_turn latencies 10 -50
try_in_turn a_pingpong 10 50
try_in_turn a_pingpong 0.25 120
try_in_turn a_pingpong -100 -50
try_in_turn writes 10 50
try_in_turn writes -10 -50
try_in_turn one_way 10 50
try_in_turn one_way -10 -50
try_in_turn deep_one_way 10 50
try what_is_no_clock_is_refused
