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

a_node_that_is_given_twice_is_asked_once() {
	printf '#!/bin/sh\necho "$1" >>asked\nexec ./on "$@"\n' >noting && chmod +x noting
	rm -f asked
	"$VERBATIM" job check --via ./noting --nodes 'n1,n[0-1],n0' --job 7 job%j.%n.db >out 2>err
	is "asked" "$(sort asked | xargs)" "n0 n1" && says "^stuck (7 of 8 processes wait)" out &&
		! says "have answered" err
}

# What a node prints may be anything.
an_answer_has_no_control_characters() {
	printf '#!/bin/sh\nprintf "a\\033[31mb\\n\\nc"\n' >raw && chmod +x raw
	is "answer" "$("$VERBATIM" job top --via ./raw --nodes n0 --job 7 job%j.%n.db)" \
		$'n0:\na\\x1b[31mb\n\nc'
}

# Programs of these names, which take a node and a command as the real ones do.
named_ways_are_commands() {
	local way
	mkdir -p bin
	printf '#!/bin/sh\n[ "$1 $2 $3" = "-n 1 --host" ] || exit 9\nshift 3\nexec ./on "$@"\n' \
		>bin/prterun
	printf '#!/bin/sh\n[ "$1 $3" = "exec --" ] || exit 9\nnode=$2\nshift 3\n
		exec ./on "$node" "$@"\n' >bin/kubectl
	chmod +x bin/*
	for way in prterun kubectl; do
		PATH=$PWD/bin:$PATH "$VERBATIM" job check --via $way --nodes n0,n1 --job 7 \
			job%j.%n.db >out 2>err
		says "^stuck (7 of 8 processes wait)" out || { cat err; return 1; }
	done
}

# A trace that is longer than a node may send.
a_sum_has_the_end_of_a_trace() {
	"$VERBATIM" record -q -o job7.big.db "$both" ibv_rc_pingpong -n 10000 >out &&
		"$VERBATIM" job check --via ./on --nodes big --job 7 job%j.%n.db --most 100k \
			>out 2>err
	says "big: only the last [0-9]* of [0-9]* events were sent (raise --most)" err &&
		says "nothing failed" out &&
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

# A server of ours, for one key. Without root it serves nobody else anyhow.
sshd=$(PATH=$PATH:/usr/sbin command -v sshd)
sshd_is_there() { [ -n "$sshd" ] && id sshd >/dev/null && command -v ssh ssh-keygen >/dev/null; }
start_sshd() {
	mkdir -p ssh /run/sshd
	chmod 700 ssh
	ssh-keygen -q -t ed25519 -N '' -f ssh/host && ssh-keygen -q -t ed25519 -N '' -f ssh/key &&
		cp ssh/key.pub ssh/authorized_keys
	next_port
	cat >ssh/config <<-END
		Port $port
		ListenAddress 127.0.0.1
		HostKey $PWD/ssh/host
		AuthorizedKeysFile $PWD/ssh/authorized_keys
		PidFile none
		StrictModes no
		UsePAM no
		PermitUserEnvironment SLURMD_NODENAME
	END
	"$sshd" -D -f ssh/config -E "$PWD/ssh/log" &
	await listens $port
}

# The name of the node reaches it through the command.
through_ssh() {
	local pid
	start_sshd || { cat ssh/log; return 1; }
	"$VERBATIM" job check --nodes n0,n1 --job 7 job%j.%n.db --via "ssh -p $port -i ssh/key \
-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
127.0.0.1 SLURMD_NODENAME=%n" >out 2>err
	says "^stuck (7 of 8 processes wait)" out || { cat err ssh/log; return 1; }
}

wrong_use_is_refused() {
	"$VERBATIM" job check job%j.%n.db 2>err
	is "status" $? 2 && says "no nodes: give --nodes" err
	"$VERBATIM" job walk --nodes n1 x.db 2>err
	is "status" $? 2 && says "give one of check, facts" err
	ask report 2>err
	is "status" $? 2 && says "no output given" err
}

try the_nodes_answer_as_their_traces
try who_does_not_answer_is_named
try a_node_that_is_given_twice_is_asked_once
try an_answer_has_no_control_characters
try named_ways_are_commands
if sshd_is_there; then try through_ssh; else skip "through ssh" "no sshd"; fi
try a_report_and_the_sums_are_files
if command -v mpirun >/dev/null; then try through_mpirun; else skip "through mpirun" "none"; fi
try a_sum_has_the_end_of_a_trace
try a_running_job_answers
try wrong_use_is_refused
