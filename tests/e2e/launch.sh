# Names of traces with host, pid and rank; and a job whose launcher starts a recorder for each rank.
. tests/e2e/lib/try.sh
needs "$apps/guest" "$apps/life_001"
cd "$tmp" || exit 1
unset PMIX_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID

traces() { echo *.db; }
records_as() { # expected name; given name, environment...
	local wanted=$1 name=$2
	shift 2
	rm -f -- *.db
	env "$@" "$VERBATIM" record -q -o "$name" "$apps/guest" calls 1 >out 2>&1 ||
		{ cat out; return 1; }
	is "$(traces)" "$wanted"
}
a_rank_is_that_of_the_launcher() {
	records_as rank7.db rank%r.db PMIX_RANK=7 SLURM_PROCID=3 &&
		records_as rank12.db rank%r.db OMPI_COMM_WORLD_RANK=12 &&
		records_as 0-of-job.db %r-of-job.db PMIX_RANK=../x SLURM_PROCID=0
}
a_host_is_this_one() { records_as "$(uname -n).db" %h.db && records_as "100%.db" "100%%.db"; }
a_pid_is_that_of_the_program() {
	rm -f -- *.db
	"$VERBATIM" record -q -o t%p.db -- sh -c "echo \$\$; exec $apps/guest calls 1" >out &&
		is "$(traces)" "t$(cat out).db" &&
		is "$("$VERBATIM" sql t*.db "SELECT pid FROM process")" "$(cat out)"
}
with_a_pid_nothing_else_differs() {
	is "$(AB='c d' "$VERBATIM" record -q -o %p.db -- \
		sh -c 'echo "$AB $1"; cat; exit 7' x y <<<in
		echo $?)" $'c d y\nin\n7' &&
		is "$("$VERBATIM" record -q -o %p.db -- sh -c 'kill -TERM $$'; echo $?)" 143 &&
		is "$("$VERBATIM" record -q -o %p.db -- "$tmp/none" 2>&1; echo $?)" \
			"verbatim: start '$tmp/none': No such file or directory"$'\n127'
}
is_refused() { # name, expected message
	rm -f -- *.db
	"$VERBATIM" record -o "$1" -- touch ran 2>err
	is "exit $?" "exit 2" && says "$2" err && is "$(traces) $(echo ra*)" "*.db ra*"
}
what_no_name_can_be_made_of_is_refused() {
	is_refused "a%x.db" "use %h (host), %j (job), %n (node), %p (PID), %r (rank) or %% (a %)" &&
		is_refused "a%" "ends with a '%'" &&
		is_refused "%r.db" "is the rank, but no launcher" &&
		is_refused "%j.db" "is the job, but no launcher"
}

a_job_is_that_of_the_batch_system() {
	records_as job12.db job%j.db PMIX_RANK=0 PMIX_NAMESPACE=a/b@1 SLURM_JOB_ID=12 &&
		records_as a-b@1.db %j.db PMIX_RANK=0 PMIX_NAMESPACE=a/b@1
}

# Four ranks on two nodes, in the words of commands and in SQL; the recorder's variables are not
# taken for theirs. Rank 2 starts a second program, which has its variables.
processes_are_called_by_their_ranks() {
	rm -f -- *.db
	cat >job <<-'END'
		for i in 0 1 2 3; do
			export PMIX_RANK=$i PMIX_NAMESPACE=a SLURM_JOB_ID=7
			export SLURMD_NODENAME=n$((i / 2))
			"$apps/guest" calls 1
			[ $i != 2 ] || "$apps/guest" calls 1
		done
	END
	apps=$apps "$VERBATIM" record -q -o "$t" -- bash job >out || { cat out; return 1; }
	is "ranks" "$(sql "SELECT process, rank, job, node, launcher FROM ranks")" \
		$'1|0|7|n0|PMIx\n2|1|7|n0|PMIx\n3|2|7|n1|PMIx\n4|2|7|n1|PMIx\n5|3|7|n1|PMIx' &&
		"$VERBATIM" dump "$t" >out && says "^.*+++ rank 1 (node n0): pid" out &&
		says "+++ rank 2 (node n1, process 4): pid" out &&
		"$VERBATIM" info "$t" >out && says "^  *3  *2  *-  *-  *n1  *7" out || return
	! grep PMIX_ out || { echo "variables of launchers in: $(cat out)"; return 1; }
}

# the same job, found live
a_finding_has_the_rank() {
	rm -f -- *.db
	RANK=3 WORLD_SIZE=4 "$VERBATIM" record -q --check -o "$t" "$apps/life_001" bad >out 2>&1
	"$VERBATIM" check "$t" >out
	says "rank 3" out && ! grep "process 1" out && same_as_live "$t"
}

# Each rank has its own recorder; their traces are merged.
ranks_of_a_job_are_merged() {
	rm -f -- *.db
	[ -z "$(command -v mpirun mpicc | sed 1d)" ] && { echo "no mpirun"; return 1; }
	mpicc -O2 -o mpi_check "$root/tests/e2e/mpi_check.c" &&
		timeout 120 mpirun --allow-run-as-root --oversubscribe -np 2 --mca pml ucx \
			--mca osc ucx -x UCX_TLS=rc_verbs,ud_verbs:aux,self \
			-x UCX_NET_DEVICES=verbatim0:1 \
			"$VERBATIM" record -q -o rank%r.db -- ./mpi_check >out 2>&1
	says "^good$" out && is "$(traces)" "rank0.db rank1.db" &&
		"$VERBATIM" merge rank*.db -o job.db >out &&
		says "^job.db: 2 traces, 2 processes" out &&
		says "rank1.db: the same machine and clock, [0-9]* joined queue pair" out &&
		"$VERBATIM" check job.db >check && says "nothing failed" check &&
		is "ranks" "$("$VERBATIM" sql job.db "SELECT rank, size, local, launcher
			FROM ranks")" $'0|2|0|Open MPI\n1|2|1|Open MPI' &&
		"$VERBATIM" dump rank0.db rank1.db >dump && says "+++ rank 1: pid" dump &&
		says "SEND" <("$VERBATIM" stat job.db)
}

# docs/examples/kubernetes.yml: each volume that is mounted exists, and the parts fit together.
the_example_for_kubernetes_is_whole() {
	python3 - "$root/docs/examples/kubernetes.yml" <<-'END'
		import sys, yaml
		job, = yaml.safe_load_all(open(sys.argv[1]))
		assert (job['apiVersion'], job['kind']) == ('batch/v1', 'Job')
		assert job['spec']['completionMode'] == 'Indexed'
		pod = job['spec']['template']['spec']
		assert pod['restartPolicy'] == 'Never'
		volumes = {v['name'] for v in pod['volumes']}
		init, = pod['initContainers']
		app, collect = pod['containers']
		used = {m['name'] for c in (init, app, collect) for m in c['volumeMounts']}
		assert used == volumes, used ^ volumes
		paths = {c['name']: [m['mountPath'] + '/' for m in c['volumeMounts']]
		         for c in (init, app, collect)}
		library = init['command'][2] + init['command'][1].split('/')[-1]
		env = {e['name']: e['value'] for e in app['env']}
		assert env['LD_PRELOAD'] == library, env
		assert any(library.startswith(p) for p in paths['app'])
		assert env['VERBATIM_DIR'] in collect['command'][2]
		assert any(env['VERBATIM_DIR'].startswith(p) for p in paths['collect'])
		for c in (init, app, collect):
		    assert c['image'] and all(isinstance(w, str) for w in c['command'])
	END
}

try a_rank_is_that_of_the_launcher
if python3 -c 'import yaml' 2>/dev/null; then try the_example_for_kubernetes_is_whole
else skip "the example for kubernetes is whole" "no yaml of python3"; fi
try a_host_is_this_one
try a_pid_is_that_of_the_program
try with_a_pid_nothing_else_differs
try what_no_name_can_be_made_of_is_refused
try a_job_is_that_of_the_batch_system
try processes_are_called_by_their_ranks
try a_finding_has_the_rank
try ranks_of_a_job_are_merged
