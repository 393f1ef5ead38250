"""A PostgreSQL server of the tests' own: private directory, socket and port; stopped and started as a test likes."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.ports import free_port


class Postgres:
    """One server; ``database`` makes an empty database in it."""

    def __init__(self, directory: Path) -> None:
        self._data = directory / "data"
        self.port = free_port()
        self._run("initdb", "-D", self._data, "-U", "demur", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")

    def start(self, **settings: str) -> None:
        """Returns when the server answers; settings are those of postgresql.conf."""
        chosen = {"fsync": "off", "listen_addresses": "127.0.0.1", "unix_socket_directories": "", **settings}
        words = " ".join(f"-c {name}='{value}'" for name, value in chosen.items())
        options = f"-p {self.port} {words}"
        log = self._data / "log"
        self._run("pg_ctl", "-D", self._data, "-w", "-s", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Ends the server; ``immediate`` is its crash."""
        self._run("pg_ctl", "-D", self._data, "-w", "-s", "-m", mode, "stop")

    def pause(self) -> None:
        """All its processes stand still, connections stay open."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def database(self) -> str:
        """URL of a new, empty database."""
        import psycopg

        name = f"t{uuid.uuid4().hex[:12]}"
        with psycopg.connect(f"postgresql://demur@127.0.0.1:{self.port}/postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql+psycopg://demur@127.0.0.1:{self.port}/{name}"

    @property
    def running(self) -> bool:
        return (self._data / "postmaster.pid").exists()

    def _signal(self, number: int) -> None:
        parent = int((self._data / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
        for pid in (parent, *map(int, children.stdout.split())):
            with suppress(ProcessLookupError):  # a worker that has just ended
                os.kill(pid, number)

    def _run(self, program: str, *words: object) -> None:
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*as_user, program, *map(str, words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd="/tmp")


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A started server until the end of the block.

    Raises:
        LookupError: the programs of PostgreSQL, or a user that may run them, are not there; says which.
    """
    for program in ("initdb", "pg_ctl", "postgres"):
        if shutil.which(program) is None:
            raise LookupError(f"{program} is not on the path; install PostgreSQL's server")
    directory = Path(tempfile.mkdtemp(prefix="demur-pg-"))
    if os.geteuid() == 0:  # the server refuses root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError as error:
            raise LookupError("there is no user postgres, and the server refuses root") from error
        os.chown(directory, user.pw_uid, user.pw_gid)
    server = Postgres(directory)
    try:
        server.start()
        yield server
    finally:
        if server.running:
            server.resume()
            server.stop("immediate")
        shutil.rmtree(directory, ignore_errors=True)
