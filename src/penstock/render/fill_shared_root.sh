# Fills a shared root from the image that runs this: bash -c TEXT fill DIRECTORY ID IMAGE
#
# What is there is told by two files in DIRECTORY/.penstock. `root` comes last and says what the root was filled from:
# without it nobody may use the root. `filling` says that somebody has begun, and how: `first`, where nothing was, or
# `again`, over the root of another image. Whoever is killed in the middle is followed by one who does it all once more.
set -eu
directory=$1 id=$2 image=$3
marks=$directory/.penstock
system="usr var/lib/dpkg"

say() { echo "$0: $*"; }
refuse() { say "$*" >&2; exit 1; }

# write FILE LINE...: whole, or not at all.
write() {
    local file=$1
    shift
    printf '%s\n' "$@" >"$file.new"
    sync "$file.new"
    mv "$file.new" "$file"
    sync "${file%/*}"
}

filled_from() { [ ! -e "$marks/root" ] || head -n 1 "$marks/root"; }

others() { find "$directory" -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .penstock -printf '%f\n' -quit; }

# What an earlier root has of the system itself goes, with all files that the new one lacks; people's part of it stays.
set_aside() {
    local part
    for part in $system; do
        [ ! -e "$directory/$part" ] || [ -e "$marks/old/$part" ] || {
            mkdir -p "$marks/old/$part"
            rmdir "$marks/old/$part"
            mv -T "$directory/$part" "$marks/old/$part"
        }
    done
}

give_back_local() {
    if [ -e "$marks/old/usr/local" ]; then
        rm -rf "$directory/usr/local"
        mv -T "$marks/old/usr/local" "$directory/usr/local"
    fi
    rm -rf "$marks/old"
}

# copy OPTION...: this container's root, without what is mounted in it.
copy() {
    { tar --create --directory / --one-file-system --xattrs --sparse --exclude ./.penstock --exclude "./${directory#/}" \
        --exclude ./proc --exclude ./sys --exclude ./dev --exclude ./run --exclude ./tmp \
        --exclude ./etc/hostname --exclude ./etc/resolv.conf --exclude ./.dockerenv --file - . || touch "$marks/short"
    } | tar --extract --directory "$directory" --preserve-permissions --same-owner --numeric-owner --xattrs \
        --xattrs-include='*' --keep-directory-symlink --delay-directory-restore "$@" --file -
    [ ! -e "$marks/short" ] || refuse "the image could not be read whole; what tar says stands above"
}

# Where pods mount what is each machine's own. Nobody may write there but root, or sshd lets nobody in.
make_places() {
    local place
    for place in dev etc/slurm proc run sys tmp; do
        mkdir -p "$directory/$place"
    done
    for place in hostname hosts resolv.conf; do
        [ -e "$directory/etc/$place" ] || : >"$directory/etc/$place"
    done
    chmod 1777 "$directory/tmp"
    chmod 0755 "$directory"
}

[ -d "$directory" ] || refuse "$directory is no directory: the shared root's claim is not mounted there"
if [ "$(filled_from)" = "$id" ]; then
    say "the shared root has been filled from $image before"
    exit 0
fi
if [ ! -e "$marks/root" ] && [ ! -e "$marks/filling" ] && [ -n "$(others)" ]; then
    [ -x "$directory/bin/sh" ] && [ -r "$directory/etc/passwd" ] ||
        refuse "the shared root's claim holds other files ($(others), for one); empty it, or name another claim"
    say "somebody else made a root file system here; it is taken as it is"
    mkdir -p -m 0755 "$marks"
    make_places
    write "$marks/root" "$id" "found, and taken for $image"
    exit 0
fi
mkdir -p -m 0755 "$marks"
rm -f "$marks/short"
if [ -e "$marks/root" ]; then
    say "the shared root is filled again, from $image; it was: $(tail -n +2 "$marks/root")"
    write "$marks/filling" again
    rm "$marks/root"
    sync "$marks"
elif [ ! -e "$marks/filling" ]; then
    say "the shared root is filled from $image"
    write "$marks/filling" first
fi
if [ "$(cat "$marks/filling")" = again ]; then
    set_aside
    # What people changed, in /etc for one, stays; what they do not have comes.
    copy --skip-old-files --exclude ./usr/local
    give_back_local
else
    copy
fi
make_places
sync --file-system "$directory"
write "$marks/root" "$id" "$image"
rm "$marks/filling"
say "done"
