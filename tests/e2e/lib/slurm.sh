# Sourced by lists that need Slurm: its own controller, and nodes n0, n1, ... on this host.
#
#	start_slurm N [LINE...]		N nodes; LINEs of plugstack.conf; waits until they are there
#	stop_slurm
#
# Fails, with the reason in $slurm_missing, where Debian's slurm-wlm is not installed or this user
# may not run it.

slurm_missing=
for each in slurmctld slurmd srun scontrol; do
	command -v $each >/dev/null || slurm_missing="no $each (Debian's slurm-wlm)"
done
[ "$(id -u)" = 0 ] || slurm_missing=${slurm_missing:-"slurmd needs root"}

write_slurm_conf() { # nodes
	local host ports
	host=$(hostname -s)
	next_port
	cat >"$slurm/slurm.conf" <<-END
		ClusterName=test
		SlurmctldHost=$host(127.0.0.1)
		SlurmctldPort=$port
		AuthType=auth/none
		CredType=cred/none
		SlurmUser=root
		StateSaveLocation=$slurm/state
		SlurmctldPidFile=$slurm/ctld.pid
		SlurmdPidFile=$slurm/%n.pid
		SlurmdSpoolDir=$slurm/%n.spool
		SlurmctldLogFile=$slurm/ctld.log
		SlurmdLogFile=$slurm/%n.log
		ProctrackType=proctrack/pgid
		TaskPlugin=task/none
		SwitchType=switch/none
		MpiDefault=none
		ReturnToService=2
		SlurmdParameters=config_overrides
		SlurmdTimeout=300
		MessageTimeout=60
		PlugStackConfig=$slurm/plugstack.conf
		SelectType=select/linear
		PropagateResourceLimits=NONE
	END
	for ((i = 0; i < $1; i++)); do
		next_port
		echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$port CPUs=512 \
State=UNKNOWN"
	done >>"$slurm/slurm.conf"
	echo "PartitionName=all Nodes=n[0-$(($1 - 1))] Default=YES MaxTime=INFINITE State=UP \
OverSubscribe=FORCE:16" >>"$slurm/slurm.conf"
}

slurm_is_up() { # nodes
	[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$1" ]
}

start_slurm() { # nodes [lines of plugstack.conf]
	local n=$1
	shift
	[ -z "$slurm_missing" ] || { echo "$slurm_missing"; return 1; }
	# a list may have a network of its own, with addresses that getaddrinfo() does not count
	[ -n "$(ip -o addr show scope global)" ] || ip addr add 192.0.2.1/32 dev lo
	slurm=$tmp/slurm
	mkdir -p "$slurm/state"
	printf '%s\n' "$@" >"$slurm/plugstack.conf"
	write_slurm_conf "$n"
	export SLURM_CONF=$slurm/slurm.conf
	slurm_pids=$(slurmctld -D >"$slurm/ctld.out" 2>&1 & echo $!)
	for ((i = 0; i < n; i++)); do
		mkdir -p "$slurm/n$i.spool"
		slurm_pids+=" $(slurmd -D -N n$i >"$slurm/n$i.out" 2>&1 & echo $!)"
	done
	await slurm_is_up "$n" || { tail -n 5 "$slurm"/*.log "$slurm"/*.out; return 1; }
}

not_running() { ! grep -q "^State:.[^Z]" /proc/$1/status 2>/dev/null; }

# They are no jobs of this shell: try() ends those that a test leaves.
stop_slurm() {
	scancel --partition=all 2>/dev/null
	[ -z "$slurm_pids" ] || kill -KILL $slurm_pids 2>/dev/null # they take long to end otherwise
	for each in $slurm_pids; do await not_running $each; done
	slurm_pids=
}
