# Makes a shared root the root of this container, and runs a program there: bash -c TEXT enter DIRECTORY PROGRAM...
#
# Not only for that program: whoever is sent into the container later, by a probe or by exec, is there, too. The right
# to mount, which that takes, goes before the program begins: root's sessions need not have it.
set -eu
directory=$1
shift
[ -e "$directory/.penstock/root" ] || {
    echo "$0: the shared root at $directory has not been filled: see the Controller's condition SharedRootFilled" >&2
    exit 1
}
for place in /proc /sys /dev /tmp; do
    mount --rbind "$place" "$directory$place"
done
for file in /etc/hosts /etc/resolv.conf /etc/hostname; do
    [ -e "$file" ] || continue
    # Who replaces such a file has it in a directory, behind a link. A mount of the file alone would keep the old one.
    if [ -L "$file" ] && [ "$(readlink "$directory$file")" = "$(readlink "$file")" ]; then
        file=$(readlink -f "$file")
        file=${file%/*}
        mkdir -p "$directory$file"
    fi
    mount --bind "$file" "$directory$file"
done
cd "$directory"
# On top of the root that was: whoever enters this container's mounts comes here.
mount --move . /
exec chroot . setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$@"
