#!/usr/bin/env bash
# The newest rdma-core that Debian has: its programs import symbols that this machine's library
# lacks. They run on the device, recorded, checked and replayed. tests/hardware/releases.sh does
# more, with more releases.
. tests/e2e/lib/try.sh
. tests/hardware/lib/release.sh
in_own_mounts

make_root sid ibverbs-utils || exit 0
newest=$(version_of)
try "ibv_devinfo of rdma-core $newest" shows_the_device
try "ibv_rc_pingpong of rdma-core $newest" runs_bare ibv_rc_pingpong -n 100
try "ibv_rc_pingpong of rdma-core $newest, recorded" runs_recorded ibv_rc_pingpong -n 100
exit $failed
