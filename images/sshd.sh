#!/bin/sh
# sshd for containers, in front of Debian's: /run may be a fresh tmpfs, and host keys must not be in an image.
# It has the same path as the real one, for pods start it by that path.
set -e
mkdir -p /run/sshd
chmod 0755 /run/sshd
# Only who brings no key at all gets one: it is as new as the container.
ls /etc/ssh/ssh_host_*_key >/dev/null 2>&1 || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
exec /usr/lib/openssh/sshd "$@"
