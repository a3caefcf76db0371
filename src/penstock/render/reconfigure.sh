# Stands between what people write and what slurmctld reads; render/reconfigure.py tells why and reads the reports.
#
#   watch             beside slurmctld for the life of its pod: judge, install, reconfigure, prove, or put back
#   once              before slurmctld starts, for pods that roll with every edit: judge, install, end
#   stay              the same, and then beside slurmctld for the sake of its ring of keys alone
#   fingerprint DIR   print how reports name a configuration
#
# By environment, for no value may become text of a script: STATE_DIRECTORY, SLURMCTLD_PORT, START_SECONDS,
# RING_SECONDS.
set -u -o pipefail
shopt -s nullglob dotglob
export LC_ALL=C
umask 077

# What the cluster's objects say now, and what slurmctld reads, where only this script writes.
candidate=/mnt/slurm
etc=/etc/slurm
# On the same file system as /etc/slurm, so that a rename puts a file in place.
own=$etc/.penstock
# Outlives the pod; never holds a key.
kept=${STATE_DIRECTORY-}/penstock-last-good

# The directory behind ..data that was looked at; the fingerprint of the last report; what Slurm said last.
seen='' judged='' words=''
# Names of files, in the order of their bytes: what `names` and `keys` have found. People wait for all of this whenever
# slurmctld's pod starts, so the shell itself looks, compares and counts: a process costs a millisecond.
found=()
# The ring of keys that was looked at, its digest, when, by SECONDS, everybody is to read it, and who did not.
ring='' ringed='' due='' missed=''
# Nobody writes here: waiting for it takes no process of its own.
exec {never}<> <(:)

pause() { read -rt 0.2 -u "$never"; }

# A key is no configuration: a new one comes with a new pod, not under the feet of a running slurmctld. The exception
# is a ring, see `renew`.
is_key() { [[ $1 == *.key || $1 == *.jwks || $1 == */jwks.json ]]; }

names() {
    local path
    found=()
    for path in "$1"/*; do
        [[ ! -f $path ]] || is_key "$path" || found+=("${path##*/}")
    done
}

keys() {
    local path
    found=()
    for path in "$1"/*; do
        [[ ! -f $path ]] || ! is_key "$path" || found+=("${path##*/}")
    done
}

# As files below a directory, for sha256sum would take one named `-` for its input.
sums() {
    names "$1"
    ((${#found[@]} == 0)) || (cd -- "$1" && exec sha256sum -- "${found[@]/#/./}")
}

fingerprint() {
    local lines sum
    lines=$(sums "$1") || return
    [ -z "$lines" ] || lines=${lines//  .\//  }$'\n'
    sum=$(printf %s "$lines" | sha256sum -) && echo "${sum%% *}"
}

# Copies of files with a mode; of none, none.
copy() { (($# == 2)) || install -m "$1" -t "$2" -- "${@:3}"; }

# kubelet swaps the directory behind ..data as a whole, so one look at an inode tells; nobody else's is that cheap.
changed() {
    if [ -L "$candidate/..data" ]; then
        [[ ! $candidate/..data -ef $seen ]]
    else
        [[ $judged != "$(fingerprint "$candidate")" ]]
    fi
}

again() { seen='' judged=''; }

# Copy the candidate as it was at one moment: an old directory is only removed after the swap.
take() {
    local name from=$candidate plain=() scripts=()
    [ ! -L "$candidate/..data" ] || from=$candidate/$(readlink "$candidate/..data") || return
    away "$own/new" && mkdir "$own/new" || return
    names "$from"
    for name in "${found[@]}"; do
        if [ -x "$from/$name" ]; then scripts+=("$from/$name"); else plain+=("$from/$name"); fi
    done
    copy 440 "$own/new" "${plain[@]}" && copy 550 "$own/new" "${scripts[@]}" || return
    [ "$from" = "$candidate" ] || [ "$candidate/..data" -ef "$from" ] || return
    seen=$from
}

away() { [ ! -e "$1" ] || rm -rf "$1"; }

# Slurm's own parser reads a copy. `show hostnames` asks nobody, so a slurmctld that is away is no reason to refuse.
# The bound is for an Include of nothing: Slurm says so at once, and then waits a minute for the file.
judge() {
    ! read_before || return 0
    away "$own/trial" && cp -r "$own/new" "$own/trial" && look_inside || return
    words=$(SLURM_CONF=$own/trial/slurm.conf timeout 2 scontrol show hostnames localhost 2>&1 >/dev/null)
}

# Whether Slurm has taken these very files before, by these very programs: it would say the same again.
read_before() {
    local noted by
    [ -e "$kept/read" ] && IFS= read -r noted <"$kept/read" && by=$(readers) && [[ $noted == "$judged $by" ]]
}

# Which programs those are: of another build, they differ in size or time.
readers() { hash scontrol slurmctld && find -L "${BASH_CMDS[scontrol]}" "${BASH_CMDS[slurmctld]}" -printf '%s %T@ '; }

# What a configuration includes may lie elsewhere and change without it: such a one is read every time.
note_readers() {
    local file text by
    for file in "$own/good"/*.conf; do
        text=$(tr -d '\0' <"$file")
        [[ ${text,,} != *include* ]] || return
    done
    by=$(readers) && echo "$judged $by" >"$kept/.read" && mv -fT "$kept/.read" "$kept/read"
}

# `Include /etc/slurm/more.conf` means the file beside it, which is not installed yet.
look_inside() {
    local file text
    for file in "$own/trial"/*.conf; do
        text=$(tr -d '\0' <"$file")
        [[ $text == *"$etc/"* ]] || continue
        rm -f "$file" && printf '%s\n' "${text//"$etc/"/"$own/trial/"}" >"$file" || return
    done
}

# Slurm's words on one line, with files as people know them and without the name of the program that was asked.
told() {
    local line said=
    while IFS= read -r line; do
        line=${line#scontrol: } line=${line//"$own/trial/"/"$etc/"}
        line=${line#error: } line=${line#fatal: }
        [[ -z $line || $line == "Unable to process configuration file" ]] || said+="${said:+; }${line//[[:cntrl:]]/ }"
    done <<<"$words"
    echo "${said:-$1}"
}

# A report is said once; a restarted script says the last one again, for its reader may have restarted too. So it is
# noted before it is said.
report() {
    local line="configuration $judged $1: $2"
    [[ ! -e $own/report || $line != "$(cat "$own/report")" ]] || return 0
    echo "$line" >"$own/report.new" && mv -f "$own/report.new" "$own/report"
    echo "$line"
}

# Each file by one rename, slurm.conf after all that it may name, and only then away with what is no longer there.
put() {
    local name others=()
    away "$own/next" && cp -rp "$1" "$own/next" && names "$own/next" || return
    for name in "${found[@]}"; do
        [ "$name" = slurm.conf ] || others+=("$own/next/$name")
    done
    ((${#others[@]} == 0)) || mv -ft "$etc" -- "${others[@]}" || return
    mv -f "$own/next/slurm.conf" "$etc" || return
    names "$etc"
    for name in "${found[@]}"; do
        [ -e "$1/$name" ] || rm -f -- "$etc/$name"
    done
}

put_keys() {
    keys "$candidate"
    copy 600 "$etc" "${found[@]/#/$candidate/}"
}

installed() { [ -e "$etc/slurm.conf" ]; }
listens() { (: <"/dev/tcp/localhost/$SLURMCTLD_PORT") 2>/dev/null; }
answers() { installed && listens && [[ $(timeout 12 scontrol ping 2>/dev/null) == *" at $HOSTNAME is UP"* ]]; }

# While slurmctld becomes the new one connections wait and none is refused: one that is refused means that it died.
came_back() {
    local bound=$((SECONDS + 15))
    while listens && ((SECONDS < bound)); do
        ! answers || return 0
        pause
    done
    return 1
}

# From here on this is what everything falls back to.
accept() {
    rm -rf "$own/good" && cp -rp "$own/new" "$own/good" && keep && note_readers
    report live "$1"
}

# A link is swapped, so that there is always one whole configuration under it, whenever the machine stops.
keep() {
    local part=$kept/.$HOSTNAME
    [[ ! -e $kept/current/slurm.conf || $(readlink "$kept/current") != "$judged" ]] || return 0
    mkdir -p "$kept" && rm -rf "$part" "$kept/$judged" && cp -rp "$own/good" "$part" && sync "$part"/* "$part" || return
    mv -T "$part" "$kept/$judged" && ln -sfn "$judged" "$part" && mv -fT "$part" "$kept/current" || return
    find "$kept" -mindepth 1 -maxdepth 1 -type d ! -name "$judged" -exec rm -rf {} +
}

refuse() {
    if ! installed && [ -d "$own/good" ]; then
        put "$own/good" && report kept "$1; slurmctld starts with the last good one, $(fingerprint "$own/good")"
    else
        report refused "$1"
    fi
}

# slurmctld -D says yes to a reconfigure and dies of it afterwards, if it minds more than scontrol's parser did.
apply() {
    put "$own/new" || return
    if reconfigure && came_back; then
        accept "slurmctld runs it"
        return
    fi
    put "$own/good" || return
    report refused "$(told "slurmctld did not come back with it, its log says why"); the last good one is back"
    # If it was only slow, it must not go on with what is no longer there.
    ! listens || reconfigure || return 0
}

# Twice at most: the sidecar of a backup may be asking for the same at the same time.
reconfigure() {
    words=$(timeout 60 scontrol reconfigure 2>&1) && return
    pause
    listens && words=$(timeout 60 scontrol reconfigure 2>&1)
}

# Nobody listens, as at the start of a pod. If slurmctld comes with the last good configuration and not with the new
# one, the new one is at fault; if it comes with neither, something else is, and both are tried in turn.
bring_up() {
    local good= running=
    ! installed || running=maybe
    while :; do
        put "$own/new" && await "$running" && accept "slurmctld started with it" && return
        ! changed || return 1
        [ ! -d "$own/good" ] || good=$(fingerprint "$own/good")
        [ -n "$good" ] || report refused "slurmctld does not start with it, its log says why; there is no good one yet"
        [[ -n $good && $good != "$judged" ]] || continue
        put "$own/good" && await "$running" && report kept "slurmctld starts only with the last good one, $good" &&
            return
        ! changed || return 1
    done
}

# A slurmctld that was on its way already may have read what was there before: it is told to read again. So is one that
# has never saved all of its state: it saves it then, and otherwise after five minutes, before which a slurmctld that is
# killed never starts again (fatal: No Assoc usage file).
await() {
    local bound=$((SECONDS + ${START_SECONDS:-60}))
    until answers; do
        ! changed && ((SECONDS < bound)) || return 1
        pause
    done
    [ -z "$1" ] && saved || { reconfigure && came_back; }
}

saved() { [[ -z ${STATE_DIRECTORY-} || -e $STATE_DIRECTORY/assoc_usage ]]; }

# What could not be brought to an end, for want of room or because slurmctld is busy, is begun anew.
consider() {
    local last=$judged verdict=0
    take && judged=$(fingerprint "$own/new") || return
    [[ $judged != "$last" ]] || return
    judge || verdict=$?
    if [ "$verdict" != 0 ]; then
        refuse "$(told "scontrol could not read it")"
        # Too late may mean no more than a busy machine.
        [ "$verdict" != 124 ] || again
    elif answers; then
        apply || again
    elif listens; then
        again
    else
        bring_up || again
    fi
}

# A ring of keys is made so that who has the next one and who has the one before understand each other. So it may lie
# there at once. It counts when all daemons have read it, which a reconfigure makes them do; but to some of them kubelet
# shows it later than to us, hence the wait.
renew() {
    [[ ! -e $candidate/slurm.jwks || $candidate/slurm.jwks -ef $ring ]] || install_ring || return
    [[ -z $due ]] || ((SECONDS < due)) || spread
}

install_ring() {
    local sum from=$candidate
    [ ! -L "$candidate/..data" ] || from=$candidate/$(readlink "$candidate/..data") || return
    install -m 600 -- "$from/slurm.jwks" "$own/ring" && sum=$(sha256sum <"$own/ring") || return
    mv -fT "$own/ring" "$etc/slurm.jwks" && ring=$from/slurm.jwks || return
    # With every edit of the configuration the same ring is shown in a new directory.
    [[ ${sum%% *} != "$ringed" ]] || return 0
    ringed=${sum%% *} due= missed=
    if [[ -e $kept/ring && $(cat "$kept/ring") == "$ringed" ]]; then
        say_ring read "by every slurmd and sackd"
    else
        due=$((SECONDS + ${RING_SECONDS:-150}))
        say_ring installed "all are told to read it in ${RING_SECONDS:-150} seconds"
    fi
}

say_ring() { echo "keyring $ringed $1: $2"; }

# What some slurmd did not hear, for want of a network, all are told again.
spread() {
    local late
    answers && starts >"$own/before" || return 0
    late=$(unread "$own/before" /dev/null)
    if [ -z "$late" ]; then
        reconfigure && came_back || return 0
        late=$(still_unread)
    fi
    if [ -n "$late" ]; then
        due=$((SECONDS + 5))
        [[ $late == "$missed" ]] || say_ring late "not yet read by slurmd of $late"
    else
        due=
        # Without room for this note, the next pod lets everybody read once more.
        mkdir -p "$kept" && echo "$ringed" >"$kept/.ring" && mv -fT "$kept/.ring" "$kept/ring"
        say_ring read "by every slurmd and sackd"
    fi
    missed=$late
}

# Each slurmd that slurmctld counts on, and since when it runs: one that is reconfigured begins anew, which proves that
# it was. slurmctld, which begins anew itself, does not know (None) until it registers. One that is away counts until
# slurmctld gives it up.
starts() {
    local nodes
    nodes=$(timeout 60 scontrol --oneliner show nodes 2>&1) || [[ $nodes == "No nodes in the system" ]] || return
    sed -nE '/ State=[^ ]*(DOWN|POWER|FUTURE)/d
        s/^NodeName=([^ ]+) .* SlurmdStartTime=([^ ]+).*/\1 \2/p' <<<"$nodes" | sort
}

# Those in the first list that have not registered, or are in the second just so.
unread() { { grep ' None$' "$1"; comm -12 "$1" "$2"; } | cut -d' ' -f1 | paste -sd,; }

still_unread() {
    local late=all bound=$((SECONDS + ${START_SECONDS:-60}))
    until starts >"$own/after" && late=$(unread "$own/after" "$own/before") && [ -z "$late" ] || ((SECONDS >= bound)); do
        pause
    done
    echo "$late"
}

begin() {
    mkdir -p "$own" && { installed || put_keys; } || return
    # Killed at its very first start, before it could save anything: nobody had a job yet, and it may start as if new.
    saved || [ -e "$kept/current" ] || rm -f "$STATE_DIRECTORY/clustername"
    [ ! -e "$kept/current/slurm.conf" ] || { rm -rf "$own/good" && cp -rLp "$kept/current" "$own/good"; }
}

resume() {
    [ -e "$own/report" ] && cat "$own/report" && read -r _ judged _ <"$own/report"
}

watch() {
    resume || begin || exit
    while :; do
        ! changed || consider
        renew
        pause
    done
}

# Nobody stays to see slurmctld start: what Slurm's parser takes counts as good.
once() {
    rm -rf "$etc/slurm.conf" "$own"
    begin || exit
    until installed; do
        if changed && take && judged=$(fingerprint "$own/new"); then
            if judge; then
                put "$own/new" && accept "slurmctld starts with it" || again
            else
                refuse "$(told "scontrol could not read it")"
            fi
        fi
        pause
    done
}

stay() {
    installed || once
    while :; do
        renew
        pause
    done
}

"$@"
