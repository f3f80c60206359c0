# Jobs of a real Slurm, whose nodes are on this host: srun --verbatim, and questions to its nodes.
. tests/e2e/lib/try.sh
. tests/e2e/lib/slurm.sh
needs "$apps/two_threads"
[ -z "$slurm_missing" ] || { skip "jobs of Slurm" "$slurm_missing"; exit; }
[ -e "$libs/verbatim-slurm.so" ] || { skip "jobs of Slurm" "no slurm/spank.h"; exit; }
cd "$tmp" || exit 1
start_slurm 2 "optional $libs/verbatim-slurm.so verbatim=$VERBATIM" ||
	{ not_ok "Slurm starts" "$(cat "$tmp"/slurm/*.out | tail -n 5)"; exit 1; }
trap 'stop_slurm; rm -rf "$tmp"' EXIT
unset SLURM_JOB_ID

on_nodes() { srun -N2 -n4 --overcommit "$@"; }

tasks_are_recorded_in_a_trace_of_their_node() {
	on_nodes --verbatim=job%j.db "$apps/two_threads" 8 >out 2>err || { cat out err; return 1; }
	local n0=(job*.n0.db) n1=(job*.n1.db)
	is "traces" "$(ls job*.db | wc -l)" 2 || { ls; return 1; }
	is "ranks" "$("$VERBATIM" sql "${n0[0]}" "SELECT rank, size, local, node, launcher,
		status FROM ranks JOIN process ON process.id = process ORDER BY 1")" \
		$'0|4|0|n0|Slurm|0\n1|4|1|n0|Slurm|0' &&
		is "ranks" "$("$VERBATIM" sql "${n1[0]}" "SELECT rank FROM ranks ORDER BY 1")" \
			$'2\n3' && says "^verbatim: job.*n0.db: 2 processes, .* 0 lost" err
}

a_step_on_one_node_has_the_name_as_given() {
	srun -N1 -n2 --overcommit --verbatim=one.db "$apps/two_threads" 8 >out 2>err &&
		is "processes" "$("$VERBATIM" sql one.db "SELECT count(*) FROM process")" 2
}

without_the_option_nothing_is_recorded() {
	rm -f ./*.db
	srun -N1 -n1 "$apps/two_threads" 8 >out 2>err
	is "traces" "$(ls ./*.db 2>/dev/null)" ""
}

the_status_is_that_of_the_task() {
	srun -N1 -n1 --verbatim=t.db sh -c 'exit 3' 2>err
	is "status" $? 3
}

# Into a running job, by its number alone.
a_running_job_answers() {
	next_port
	on_nodes --verbatim=run%j.db sh -c 'exec ibv_rc_pingpong -p $(('$port' + SLURM_PROCID))' \
		>out 2>&1 & local job=$! id
	for i in 0 1 2 3; do
		await listens $((port + i)) || { cat out; return 1; }
	done
	id=$(squeue -h -o %i)
	"$VERBATIM" job check --job "$id" run%j.%n.db >out 2>err
	says "^n0.db, n1.db: 4 processes" out || { cat out err; scancel "$id"; return 1; }
	"$VERBATIM" job check --job "$id" --nodes 'n[0-2]' run%j.%n.db >out 2>err
	says "n2 has not answered" err && says "^n0.db, n1.db: 4 processes" out
	local status=$?
	scancel "$id"
	wait $job
	return $status
}

# docs/CLUSTER.md: lines after "$ "; their status is 0, or what the comment says.
the_page_about_clusters_runs() {
	local line status
	mkdir page && cd page || return
	export PATH=$libs:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_oob_tcp_if_include=lo \
		SLURM_OVERCOMMIT=1
	next_port
	printf '#!/bin/sh\nexec "%s" 8\n' "$apps/two_threads" >app
	printf '#!/bin/sh\nexec ibv_rc_pingpong -p $((%d + SLURM_PROCID))\n' $port >hang
	chmod +x app hang
	port=$((port + 3))
	while read -r line; do
		status=0
		eval "$line" >out 2>err </dev/null || status=$?
		[ $status = 0 ] || [[ $line == *"exit status $status for "* ]] ||
			{ echo "$line: $status: $(tail -n 3 err)"; scancel -n hang; return 1; }
		[[ $line != *" job check "* ]] || says "^n0.db, n1.db: 4 processes" out || return
	done < <(sed -n 's/^\$ //p' "$root/docs/CLUSTER.md")
	is "ranks" "$("$VERBATIM" sql all.db "SELECT group_concat(rank) FROM (SELECT rank FROM
		ranks ORDER BY rank)")" 0,1,2,3
}

try tasks_are_recorded_in_a_trace_of_their_node
try a_step_on_one_node_has_the_name_as_given
try without_the_option_nothing_is_recorded
try the_status_is_that_of_the_task
try a_running_job_answers
if command -v mpirun >/dev/null; then try the_page_about_clusters_runs
else skip "the page about clusters runs" "no mpirun"; fi
