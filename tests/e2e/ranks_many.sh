# Jobs of many ranks that hang or are slow, as in ranks.sh: of 64 ranks on 8 nodes of a real Slurm,
# and of 1,000. `check` names the rank, its node, its queue pair and the place on its first screen,
# and nobody in a job without the mistake. By hand or with LONG=1: minutes. KINDS selects some.
. tests/e2e/lib/try.sh
. tests/e2e/lib/slurm.sh
needs "$apps/ranks"
[ -n "${LONG:-}" ] || [ -n "${KINDS:-}" ] || { skip "many ranks" "LONG=1 or KINDS"; exit; }
cd "$tmp" || exit 1
exec 3>&2

# What the first screen says: the culprit is rank $1 of node $2.
expected() { # kind
	case $1 in
	stopped) echo "rank C (was stopped|called no verb).* post_receive" ;;
	no-receive) echo "rank C polls cq2 in vain .* post_send" ;;
	# of 1,000 processes on few processors the recorder may see an end late
	dead) echo "rank C (was killed by SIGKILL at|called no verb for) .* post_rec.*SIGKILL" ;;
	late-key) echo "rank C called no verb for .* exchange_key" ;;
	lost-wakeup) echo "rank C does not poll cq2: 1 completion .* sleep_over_it" ;;
	full-queue) echo "rank C has filled the send queue of qp1: .* post_send" ;;
	# or its queue pair has failed by then: the finding has it
	wrong-peer) echo "(rank C qp1|qp1 of rank C) is connected to qp2 of rank .* post_send" ;;
	memlock) echo "\(node $node\) .*ibv_reg_mr\(\), failed with ENOMEM .* register_more" ;;
	fork) echo "rank C called system\(\), .* post_receive" ;;
	deadlock) echo "3 processes wait for each other, in a circle" ;;
	unread) echo "rank C does not poll cq2: [0-9] completions? .* post_send" ;;
	slow) echo "rank C qp1 was late [0-9]+ times, .* post_send" ;;
	esac
}

has_named() { # kind
	local wanted
	wanted=$(expected "$1")
	[[ $seen =~ ${wanted//rank C/"rank $culprit \(node $node\) \(ranks\)"} ]] &&
		[[ $seen =~ (qp[0-9] -\> rank|qp1) ]]
}

names_nobody() { ! grep -q -e ^stuck -e ^late screen; }

# Records one job, and reads the first screen. @record: a function that makes traces.
look_at() { # record kind [good]
	local begin
	rm -f ./*.db
	"$@" >out 2>&1
	begin=${EPOCHREALTIME/./}
	"$VERBATIM" check ./*.db >all 2>err
	took=$(((${EPOCHREALTIME/./} - begin) / 1000))
	[ $took -le $slowest ] || slowest=$took
	head -24 all >screen
	seen=$(tr -s '\n ' ' ' <screen)
	[ -s screen ] || { cat err; tail -n 5 out; return 1; }
}

in_slurm() { # kind [good]
	RANKS_BOARD=$tmp/board RANKS_NODE=8 RANKS_RUN="srun -N8 -n64 --overcommit \
		--verbatim=$tmp/job%j.db" timeout 100 "$apps/ranks" 64 "$@"
}

in_one() { timeout 300 "$VERBATIM" record -q -o job.db -- "$apps/ranks" 1000 "$@"; }

all_are_named() { # record kinds...
	local record=$1 named=0 wrong=0 n=0 slowest=0 took seen
	shift
	for kind in "$@"; do
		n=$((n + 1))
		[ -z "${TIMES:-}" ] || echo "$kind at $SECONDS s" >&3
		if look_at "$record" "$kind" && has_named "$kind"; then named=$((named + 1))
		else echo "$kind is not named: $(head -c 1500 screen)"; fi
		if look_at "$record" "$kind" good && names_nobody; then :
		else wrong=$((wrong + 1)) && echo "twin of $kind: $(head -c 1000 screen)"; fi
	done
	echo "$named of $n named, $wrong twins named, answers in at most $slowest ms" >>figures
	[ $named = $n ] && [ $wrong = 0 ] && [ $slowest -le 20000 ]
}

kinds=${KINDS:-stopped no-receive dead late-key lost-wakeup full-queue wrong-peer memlock fork
	deadlock unread slow}

many_ranks_in_slurm() {
	node=n4 culprit=33
	all_are_named in_slurm $kinds
}

a_thousand_ranks() {
	node=n125 culprit=501
	local some="stopped no-receive dead late-key full-queue unread"
	all_are_named in_one ${THOUSAND-${KINDS:-$some}}
}

if [ -z "$slurm_missing" ] && [ -e "$libs/verbatim-slurm.so" ]; then
	trap 'stop_slurm; rm -rf "$tmp"' EXIT
	start_slurm 8 "optional $libs/verbatim-slurm.so verbatim=$VERBATIM" >slurm.out || {
		not_ok "Slurm starts" "$(cat slurm.out)"
		exit 1
	}
	try many_ranks_in_slurm
else
	skip "many ranks in slurm" "${slurm_missing:-no slurm/spank.h}"
fi
[ "${THOUSAND-x}" = "" ] || try a_thousand_ranks
sed 's/^/# /' figures
