# What replays of stored traces report, to the letter, and with each option.
. tests/e2e/lib/stored.sh

# Times, addresses, pointers, numbers that the device or the kernel chooses, and the choice of a
# receive from an SRQ differ between two replays; a slow one reports its progress.
normalise() {
	sed '/^  "seconds"/d; /^  "longest_wait_ns"/d; /choice of a receive from a shared/d
		/the number of completion vectors/d; /^verbatim: replay: .* events so far/d
		s/, "least": .*/}/; s/"handle": "0x[0-9a-f]*"/"handle"/; s/}\],$/},/
		s/"count": [0-9]*, \("reason": "\(numbers assigned\|a queue shorter\)\)/\1/
		s/\(addresses of librdmacm\): .*/\1/
		s/[0-9.]* s\b/TIME/g; s/[0-9]* x \(numbers assigned\)/\1/'
}

replays() { # NAME TRACES OPTION...
	local name=$1 traces=$2
	shift 2
	asks "$name" "$traces" replay --device soft --format json "$@" {}
}

replays replay "*.db"
some="soft_each_way.db soft_errors.db soft_srq.db soft_ud.db"
replays serial "$some soft_xrc.db rxe_two_ends.db" --threads serial
replays processes "soft_two_ends.db soft_rc.db soft_write.db fork*.db" --processes
replays first "$some" --to 1:150
replays last "$some soft_rc.db soft_windows.db" --last 40
replays middle "$some" --from 1:100 --to 1:180
replays only "soft_each_way.db soft_senders.db" --only qp1/1
replays looped "$some" --loop 2
replays as_verbs "soft_rping.db soft_ucmatose.db soft_udaddy.db rxe_rdma_server.db" --cm verbs
replays without_faults "soft_statuses_write.db soft_events.db soft_not_ready.db" --faults none
replays own_device "soft_limits.db rxe_ud.db rxe_srq.db" --persona none
asks text "$some soft_events.db rxe_windows.db" replay --device soft {}

# A device with less of everything.
cat >"$tmp/small" <<-END
	max_qp_wr 64
	max_sge 2
	max_cqe 64
	max_srq_wr 16
	max_srq_sge 1
	max_qp_rd_atom 1
	max_qp_init_rd_atom 1
	num_comp_vectors 1
END
export VERBATIM_SOFT_PERSONA=$tmp/small
replays small_device "$some soft_every_verb.db soft_send_bw.db rxe_two_ends.db" --persona none
finish
