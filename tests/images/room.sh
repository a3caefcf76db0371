#!/bin/sh
# Furnish a container: ROOTFS WORKPLACE COMMAND...; runs as the first process of fresh namespaces.
# /run is a fresh tmpfs at every start, as some engines have it; whatever else is written stays in WORKPLACE.
set -e
rootfs=$1 work=$2
shift 2
mount -t overlay room -o "lowerdir=$rootfs,upperdir=$work/upper,workdir=$work/work" "$work/root"
mount -t proc proc "$work/root/proc"
mount -t tmpfs -o mode=0755 run "$work/root/run"
mount --rbind /dev "$work/root/dev"
ip link set lo up
exec chroot "$work/root" "$@"
