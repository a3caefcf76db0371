"""MariaDB makes its database once, whatever happens meanwhile, and never touches one that is there."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from penstock.images.library import Image

from .conftest import Images
from .room import Room, kill

ENTRY = "/usr/local/bin/mariadb-entrypoint"
SERVER = (ENTRY, "/usr/sbin/mariadbd")
DATABASE = {"MARIADB_DATABASE": "slurm_acct_db", "MARIADB_USER": "slurm", "MARIADB_PASSWORD": 'it\'s \\ a "test"'}
ASK = """
"$@" & server=$!
ask() {
    mariadb --host=127.0.0.1 --user=slurm --password="$MARIADB_PASSWORD" --skip-column-names --batch --execute "$1" \
        "$MARIADB_DATABASE"
}
for _ in $(seq 300); do ask 'select 1' >/dev/null 2>&1 && break; kill -0 $server 2>/dev/null || exit 1; sleep 0.1; done
ask "$STATEMENTS"
code=$?
kill $server; wait $server
exit $code
"""
SERVERS_OWN = re.compile(r"\d{4}-\d\d-\d\d |Version: ")
COUNT = "create table if not exists visits (at int); insert into visits values (1); select count(*) from visits"


@pytest.fixture
def image(images: Images) -> Image:
    return images["mariadb"]


def visit(room: Room, statements: str = COUNT, **env: str) -> list[str]:
    """Start the server, ask it something as slurmdbd would, stop it."""
    said = room.run("/bin/bash", "-c", ASK, "ask", *SERVER, env={**DATABASE, **env, "STATEMENTS": statements})
    return [line for line in said.splitlines() if not SERVERS_OWN.match(line)]


def test_data_outlives_the_server(image: Image, tmp_path: Path) -> None:
    room = Room(image, tmp_path)
    assert visit(room) == ["1"]
    assert visit(room) == ["2"]


def test_the_server_is_as_slurmdbd_wants_it(image: Image, tmp_path: Path) -> None:
    ask = "select @@innodb_lock_wait_timeout, @@innodb_snapshot_isolation; select current_user(), @@version"
    first, second = visit(Room(image, tmp_path), ask)
    assert first.split() == ["900", "0"]
    user, version = second.split("\t")
    assert user == "slurm@%"
    assert version.startswith(image.version)


def test_the_server_is_not_root_and_its_password_is_nowhere(image: Image, tmp_path: Path) -> None:
    look = 'stat -c "server of %U" /proc/$server; grep -c "test" /proc/$server/cmdline'
    script = ASK.replace('ask "$STATEMENTS"\n', look + "\n")
    with Room(image, tmp_path).started("/bin/bash", "-c", script, "ask", *SERVER, env=DATABASE) as running:
        said, _ = running.communicate(timeout=60)
    assert [line for line in said.splitlines() if line.startswith(("server", "0", "1"))] == ["server of mysql", "0"]
    secret = DATABASE["MARIADB_PASSWORD"].encode()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and secret in path.read_bytes()] == []


def test_a_changed_password_counts_from_the_next_start(image: Image, tmp_path: Path) -> None:
    room = Room(image, tmp_path)
    assert visit(room) == ["1"]
    assert visit(room, MARIADB_PASSWORD="another") == ["2"]


def test_a_password_may_come_from_a_file(image: Image, tmp_path: Path) -> None:
    """As Secrets are mounted; the file's last line end is not part of it."""
    room = Room(image, tmp_path)
    room.write("/etc/password", "from a file\n")
    script = ASK.replace('"$@" &', 'MARIADB_PASSWORD= MARIADB_PASSWORD_FILE=/etc/password "$@" &')
    env = {**DATABASE, "MARIADB_PASSWORD": "from a file", "STATEMENTS": COUNT}
    assert "1" in room.run("/bin/bash", "-c", script, "ask", *SERVER, env=env).splitlines()


def test_names_are_names_and_not_statements(image: Image, tmp_path: Path) -> None:
    name = "a`; DROP DATABASE mysql; -- _%"
    said = visit(
        Room(image, tmp_path),
        "select database(); select count(*) > 0 from information_schema.tables",
        MARIADB_DATABASE=name,
    )
    assert said == [name, "1"]


def test_killed_at_any_moment_it_comes_back_right(image: Image, tmp_path: Path) -> None:
    """However often kill -9 ends the first start, there is a whole database in the end, and it is never made anew."""
    room = Room(image, tmp_path)
    moments = random.Random(5)  # noqa: S311 - the same moments every time
    for _ in range(6):
        with room.started(*SERVER, env=DATABASE) as running, pytest.raises(subprocess.TimeoutExpired):
            running.wait(timeout=moments.uniform(0.05, 1.2))
    assert visit(room)[-1] == "1"  # before it the server tells of pages that it recovered
    with room.started(*SERVER, env=DATABASE) as running:
        kill(running)
    assert visit(room)[-1] == "2"
    assert not room.inside("/var/lib/mysql/.penstock-half-made").exists()


def test_a_half_made_database_is_made_anew(image: Image, tmp_path: Path) -> None:
    room = Room(image, tmp_path)
    room.write("/var/lib/mysql/.penstock-half-made", "")
    room.write("/var/lib/mysql/ibdata1", "half of it")
    room.write("/var/lib/mysql/mysql/db.frm", "")
    assert visit(room) == ["1"]


def test_without_wishes_it_is_just_a_server(image: Image, tmp_path: Path) -> None:
    script = ASK.replace("--host=127.0.0.1 --user=slurm --password", "--user=root --password").replace(
        "$MARIADB_DATABASE", "mysql"
    )
    ask = "select count(*) from user where user = 'slurm'"
    said = Room(image, tmp_path).run(
        "/bin/bash", "-c", script, "ask", *SERVER, env={"STATEMENTS": ask, "MARIADB_PASSWORD": ""}
    )
    assert "0" in said.splitlines()


def test_somebody_elses_files_are_left_alone(image: Image, tmp_path: Path) -> None:
    room = Room(image, tmp_path)
    room.write("/var/lib/mysql/thesis.txt", "three years of work")
    with room.started(*SERVER, env=DATABASE) as running:
        said, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "/var/lib/mysql is not empty and holds no database" in said
    assert room.inside("/var/lib/mysql/thesis.txt").read_text() == "three years of work"


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"MARIADB_USER": "slurm"}, "MARIADB_USER has no MARIADB_PASSWORD"),
        ({**DATABASE, "MARIADB_PASSWORD": "two\nlines"}, "MARIADB_PASSWORD has more than one line"),
        ({"MARIADB_PASSWORD_FILE": "/nowhere", "MARIADB_USER": "slurm"}, "MARIADB_PASSWORD_FILE names /nowhere"),
    ],
)
def test_a_wish_that_cannot_be_is_told(env: dict[str, str], words: str, image: Image, tmp_path: Path) -> None:
    with Room(image, tmp_path).started(*SERVER, env=env) as running:
        said, _ = running.communicate(timeout=60)
    assert running.returncode != 0
    assert words in said


def test_it_runs_as_a_plain_user_too(image: Image, tmp_path: Path) -> None:
    """A pod with runAsUser 64032 and fsGroup; /run belongs to root then."""
    user = ("/usr/bin/setpriv", "--reuid=mysql", "--regid=mysql", "--clear-groups")
    said = Room(image, tmp_path).run(
        "/bin/bash", "-c", ASK, "ask", *user, *SERVER, env={**DATABASE, "STATEMENTS": COUNT}
    )
    assert "1" in said.splitlines()
