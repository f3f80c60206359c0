set -e
for device in /sys/class/infiniband/*; do
	[ -d "$device/device" ] && [ -r "$device/ports/1/state" ]
	name=${device##*/}
done
[ "$name" = verbatim0 ]
cd /sys/class/infiniband/$name/ports/1
read -r state < state
[ "$state" = "4: ACTIVE" ]
[ "$(cat state)" = "$state" ]
[ "$(cat gids/* | sort -u | wc -l)" -eq 3 ]
[ -c /dev/infiniband/uverbs0 ] && [ -c /dev/infiniband/rdma_cm ]
[ "$(stat -c %t:%T /dev/infiniband/rdma_cm)" = "$(printf %x:%x \
	$(tr : ' ' </sys/class/misc/rdma_cm/dev))" ]
[ "$(ls -l /dev/infiniband | grep -c '^c')" -eq 2 ]
[ "$(realpath /sys/class/infiniband/$name/device)" = \
	"$(readlink -f /sys/class/infiniband_verbs/uverbs0/device)" ]
[ "$(find /sys/class/infiniband/$name/ -name fw_ver | wc -l)" -eq 1 ]
exec grep -q verbatim0 /sys/class/infiniband_verbs/uverbs0/ibdev
