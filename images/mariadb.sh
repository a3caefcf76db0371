#!/bin/bash
# MariaDB in a container: make an empty data directory a database once, then be the server.
#
#   MARIADB_DATABASE, MARIADB_USER, MARIADB_PASSWORD   made when they are not there; a changed password counts
#   MARIADB_ROOT_PASSWORD                              without one root comes in by the server's own socket only
#   ..._FILE                                           the same, from a file
#
# Whatever moment this is killed at, the next start gets it right: a half-made database has a mark on it and is made
# anew, a finished one is never touched. Values go into SQL through the server's own quoting rules, never into a shell.
set -euo pipefail
shopt -s inherit_errexit

data=/var/lib/mysql
mark=$data/.penstock-half-made # there from before the first byte until after the last one is on disk
run=/run/mysqld

fail() {
    echo "mariadb-entrypoint: $*" >&2
    exit 1
}

value() { # of a variable, or of the file that NAME_FILE names
    local file="${1}_FILE" found=${!1:-}
    if [ -n "${!file:-}" ]; then
        [ -r "${!file}" ] || fail "$file names ${!file}, which user $(id -un) cannot read"
        found=$(<"${!file}")
    fi
    [[ $found != *[$'\n\r']* ]] || fail "$1 has more than one line"
    printf %s "$found"
}

quoted() { # as an SQL string
    local text=${1//\\/\\\\}
    printf "'%s'" "${text//\'/\'\'}"
}

named() { # as an SQL name
    printf '`%s`' "${1//\`/\`\`}"
}

wishes() { # every start: statements that change nothing when all is as wished
    local account
    account="$(quoted "$user")@'%'"
    [ -z "$database" ] || echo "CREATE DATABASE IF NOT EXISTS $(named "$database");"
    if [ -n "$user" ]; then
        echo "CREATE USER IF NOT EXISTS $account IDENTIFIED BY $(quoted "$password");"
        echo "ALTER USER $account IDENTIFIED BY $(quoted "$password");"
        # In a grant _ and % would stand for any character.
        local literal=${database//_/\\_}
        [ -z "$database" ] || echo "GRANT ALL PRIVILEGES ON $(named "${literal//%/\\%}").* TO $account;"
    fi
    [ -z "$root_password" ] || echo "ALTER USER root@localhost IDENTIFIED VIA unix_socket OR" \
        "mysql_native_password USING PASSWORD($(quoted "$root_password"));"
}

make_database() {
    : >"$mark"
    sync "$mark" "$data"
    find "$data" -mindepth 1 -maxdepth 1 ! -name "${mark##*/}" ! -name lost+found -exec rm -rf {} +
    local said
    said=$(mariadb-install-db --datadir="$data" --auth-root-authentication-method=socket --skip-test-db \
        --skip-name-resolve 2>&1) || fail "cannot make a database in $data: $said"
    sync --file-system "$data"
    rm "$mark"
    sync "$data"
}

if [ "$(id -u)" = 0 ]; then
    mkdir -p "$run"
    chown mysql:mysql "$run"
    # Once: a big database has many files, and only a volume that is new can have another owner.
    [ "$(stat -c %U "$data")" = mysql ] || chown -R mysql:mysql "$data"
    exec setpriv --reuid mysql --regid mysql --clear-groups "$0" "$@"
fi
[ "$#" -gt 0 ] || set -- /usr/sbin/mariadbd
[ "$1" = /usr/sbin/mariadbd ] || [ "$1" = mariadbd ] || [ "${1#-}" != "$1" ] || exec "$@"
[ "${1#-}" = "$1" ] || set -- /usr/sbin/mariadbd "$@"
[ -w "$data" ] || fail "$data does not belong to user $(id -un); run as root once, or give the volume fsGroup $(id -g)"
database=$(value MARIADB_DATABASE)
user=$(value MARIADB_USER)
password=$(value MARIADB_PASSWORD)
root_password=$(value MARIADB_ROOT_PASSWORD)
[ -z "$user" ] || [ -n "$password" ] || fail "MARIADB_USER has no MARIADB_PASSWORD"
if [ -e "$mark" ] || [ -z "$(find "$data" -mindepth 1 -maxdepth 1 ! -name lost+found -print -quit)" ]; then
    make_database
elif [ ! -d "$data/mysql" ]; then
    fail "$data is not empty and holds no database; empty it, or mount another volume"
fi
[ -w "$run" ] || set -- "$@" --socket="$data/mysqld.sock"
wanted=$(wishes)
[ -n "$wanted" ] || exec "$@"
# A pipe: passwords stand neither on disk nor in the list of processes. The server reads it before it listens.
exec "$@" --init-file=/dev/fd/3 3<<<"$wanted"
