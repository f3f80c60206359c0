# Questions to the nodes of a job: the answers are those of its traces, and silent nodes are named.
. tests/e2e/lib/try.sh
needs "$apps/ranks"
cd "$tmp" || exit 1

# Recorders of each rank: nodes n0 and n1 of 4 ranks each.
cat >via <<END
#!/bin/sh
exec "$VERBATIM" record -q -o job%j.%n.db -- "$apps/ranks" "\$@"
END
# A launcher: on NODE COMMAND...
cat >on <<'END'
#!/bin/sh
[ "$1" != n8 ] || exec sleep 60
[ "$1" != n9 ] || { echo "no route to host n9" >&2; exit 255; }
export SLURMD_NODENAME=$1 SLURM_PROCID=0 SLURM_JOB_ID=7
shift
exec "$@"
END
chmod +x via on

ask() { # action [options of job]
	local action=$1
	shift
	"$VERBATIM" job --via ./on --nodes 'n[0-1]' --job 7 "$action" job%j.%n.db "$@"
}

record() { # mode [good]
	rm -f ./*.db
	RANKS_VIA=./via "$VERBATIM" run -- "$apps/ranks" 8 "$@" >out 2>&1
}

facts_of() { jq -c '[.waits.blamed, .waits.links, .findings | tostring | gsub("job7[.]"; "")]'; }

the_nodes_answer_as_their_traces() {
	record no-receive
	"$VERBATIM" check -f json job7.n0.db job7.n1.db | facts_of >wanted
	is "$(ask check -- -f json | facts_of)" "$(cat wanted)" &&
		says "rank" wanted && ask check >out
	says "^stuck (7 of 8 processes wait)" out && says "rank 5 (node n1)" out
}

who_does_not_answer_is_named() {
	ask check --nodes n0,n8,n1,n9 --patience 500ms >out 2>err
	is "status" $? 1 && says "^stuck (7 of 8 processes wait)" out &&
		says "n9 has not answered: no route to host n9" err &&
		says "n8 has not answered: verbatim: no answer within --patience" err &&
		says "2 of 4 nodes have answered" err
	ask check --nodes n9 2>err
	is "status" $? 4
}

# A trace that is longer than a node may send.
a_sum_has_the_end_of_a_trace() {
	"$VERBATIM" record -q -o job7.big.db "$both" ibv_rc_pingpong -n 10000 >out &&
		"$VERBATIM" job check --via ./on --nodes big --job 7 job%j.%n.db --most 100k \
			>out 2>err
	says "big: the last [0-9]* of [0-9]* events (--most)" err && says "nothing failed" out &&
		"$VERBATIM" facts --most 100k -o sum job7.big.db &&
		[ "$(stat -c %s sum)" -lt $((2 * 100 * 1024 + 100)) ] || ls -l sum job7.big.db
}

# Each waits for its client.
start_servers() {
	for i in 0 1; do
		next_port
		SLURM_PROCID=$i SLURM_NTASKS=2 SLURMD_NODENAME=n$i SLURM_JOB_ID=7 "$VERBATIM" \
			record -q -o job%j.%n.db ibv_rc_pingpong -p $port >out$i 2>&1 &
		await listens $port || return
	done
}

a_running_job_answers() {
	rm -f ./*.db
	start_servers && ask top >out 2>err || { cat err; return 1; }
	says "^n0:" out && says "^job 7 on n1: ibv_rc_pingpong" out || return
	ask check >out 2>err
	says "^n0.db, n1.db: 2 processes" out || { cat err; return 1; }
	is "files" "$(echo ./*.db)" "./job7.n0.db ./job7.n1.db" && ask snapshot >out &&
		is "snapshots" "$(grep -c '/job7.n[01].2.db$' out)" 2
}

a_report_and_the_sums_are_files() {
	record no-receive
	ask report -o page.html >out && says "</html>" page.html &&
		ask facts -o all.db >out && "$VERBATIM" check all.db | grep -q "^stuck (7 of 8"
}

through_mpirun() {
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$VERBATIM" job check \
		--via "timeout 60 mpirun -n 1 -x SLURMD_NODENAME=n0 -host %n" --nodes localhost \
		--job 7 job%j.%n.db >out 2>err
	says "7 processes killed\|4 processes killed" out || { cat out err; return 1; }
}

wrong_use_is_refused() {
	"$VERBATIM" job check job%j.%n.db 2>err
	is "status" $? 2 && says "no nodes: give --nodes" err
	"$VERBATIM" job walk --nodes n1 x.db 2>err
	is "status" $? 2 && says "what to do: check, facts" err
	ask report 2>err
	is "status" $? 2 && says "no output given" err
}

try the_nodes_answer_as_their_traces
try who_does_not_answer_is_named
try a_report_and_the_sums_are_files
if command -v mpirun >/dev/null; then try through_mpirun; else skip "through mpirun" "none"; fi
try a_sum_has_the_end_of_a_trace
try a_running_job_answers
try wrong_use_is_refused
