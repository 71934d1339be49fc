"""ring.py - real nodes for tests: started, killed, restarted, always cleaned up.

    with Ring(nodes=3, shards=2) as ring:
        ring.addresses          ["127.41.7.1", "127.41.7.2", "127.41.7.3"]
        ring.kill(1); ring.restart(1)

Addresses are a free 127.x.y.1 to .n, drawn anew for each ring, so rings never meet and drivers have
their one port.  Waiting is by events with a deadline, never by a fixed sleep.

For tests in other languages it is a program, which ends as COMMAND does:

    ring.py [--nodes 3] [--shards 1] -- COMMAND...      with RONDO_HOSTS (1,2,3 by commas) and
                                                        RONDO_CONTROL set: GET its /kill/N,
                                                        /restart/N, /wait_up/N/N...
"""
import argparse
import contextlib
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RONDO_BUILD", TOP / "build" / "dev"))
PORT, STORAGE_PORT, ADMIN_PORT = 9042, 7000, 9180
DEADLINE = float(os.environ.get("RONDO_TEST_DEADLINE", "60"))
# AddressSanitizer keeps 256 MiB of freed memory by default: tests that watch memory need less.
ENVIRONMENT = {"ASAN_OPTIONS": "quarantine_size_mb=8:detect_leaks=1",
               "UBSAN_OPTIONS": "print_stacktrace=1", **os.environ}


def free_prefix(count):
    """127.x.y with nothing listening at .1 to .count on our three ports."""
    for _ in range(200):
        prefix = f"127.{random.randint(2, 250)}.{random.randint(1, 250)}"
        with contextlib.ExitStack() as held:
            try:
                for host in range(1, count + 1):
                    for port in (PORT, STORAGE_PORT, ADMIN_PORT):
                        sock = held.enter_context(socket.socket())
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        sock.bind((f"{prefix}.{host}", port))
                return prefix
            except OSError:
                continue
    raise RuntimeError("no free loopback addresses")


def until(what, deadline=DEADLINE, every=0.02):
    """Asks again and again until it says something true, and returns that."""
    end = time.monotonic() + deadline
    while True:
        said = what()
        if said:
            return said
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline} s: {getattr(what, '__doc__', None) or what}")
        time.sleep(every)


def hear_signals():
    """In the child: tests that run in the background have SIGINT ignored, and it is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Node:
    def __init__(self, ring, number, address):
        self.ring, self.number, self.address = ring, number, address
        self.folder = ring.folder / f"node{number}"
        self.process = None
        self.rights = []  # what setpriv(1) takes from it
        self.within = []  # the words that start it somewhere else: ip netns exec NAME
        self.environment = ENVIRONMENT

    def configure(self, **more):
        settings = {
            "cluster_name": "test",
            "listen_address": self.address,
            "rpc_address": self.address,
            "admin_address": self.address,
            "data_file_directories": [str(self.folder / "data")],
            "commitlog_directory": str(self.folder / "commitlog"),
            "hints_directory": str(self.folder / "hints"),
            "commitlog_segment_size": "4MiB",
            "memory_limit": "512MiB",
            "log_file": str(self.folder / "rondod.log"),
            "shards": self.ring.shards,
            "seeds": self.ring.addresses,
        }
        settings.update(self.ring.settings)
        settings.update(more)
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}: {json.dumps(value)}\n" for name, value in settings.items()]
        (self.folder / "rondo.yaml").write_text("".join(lines))

    def start(self):
        with open(self.folder / "console.txt", "ab") as console:
            self.process = subprocess.Popen(
                [*self.within, "setpriv", "--pdeathsig", "KILL",  # it does not outlive a test that is killed
                 *self.rights, BUILD / "rondod", "--config", self.folder / "rondo.yaml"],
                stdout=console, stderr=console, env=self.environment, start_new_session=True,
                preexec_fn=hear_signals)

    def cpu_seconds(self):
        """What its threads have had of the processor."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self, which="VmRSS"):
        """As it is now; the peak is VmHWM."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{which}:")[1].split()[0]) / 1024

    def refusal(self):
        """Waits until it ends by itself; its one line, which must be all that it said."""
        before = (self.folder / "console.txt").stat().st_size if self.has_said() else 0
        self.start()
        code = self.process.wait(timeout=DEADLINE)
        with open(self.folder / "console.txt", errors="replace") as console:
            console.seek(before)
            lines = console.read().splitlines()
        self.process = None
        assert (code, len(lines)) == (1, 1), f"exit {code}: {lines}"
        return lines[0]

    def has_said(self):
        return (self.folder / "console.txt").exists()

    def get(self, path, timeout=5):
        url = f"http://{self.address}:{ADMIN_PORT}{path}"
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.read().decode()

    def status(self):
        return json.loads(self.get("/api/v1/status"))

    def is_serving(self):
        if self.process and self.process.poll() is not None:
            raise RuntimeError(f"node {self.number} ended: {self.said()}")
        try:
            return "serving" in self.get("/health/ready")
        except OSError:
            return False

    def said(self):
        return (self.folder / "console.txt").read_text(errors="replace")[-4000:]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, deadline=DEADLINE):
        """SIGTERM; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=deadline)


class Ring:
    def __init__(self, nodes=3, shards=1, prefix=None, **settings):
        self.shards, self.settings = shards, settings
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rondo-ring-"))
        prefix = prefix or free_prefix(nodes)
        self.addresses = [f"{prefix}.{n}" for n in range(1, nodes + 1)]
        self.nodes = [Node(self, n, a) for n, a in enumerate(self.addresses, 1)]

    def __enter__(self):
        try:
            for node in self.nodes:
                node.configure()
            for node in self.nodes:
                node.start()
            for node in self.nodes:
                until(node.is_serving)
            self.wait_up(*range(1, len(self.nodes) + 1))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        words = []
        for node in self.nodes:
            if not node.process:
                continue
            died = node.process.poll()
            try:
                code = node.stop() if died is None else died
            except subprocess.TimeoutExpired:
                node.kill()
                code = "no end after SIGTERM"
            if code not in (0, -signal.SIGKILL):
                words.append(f"node {node.number} ended with {code}: {node.said()}")
        if not words:
            shutil.rmtree(self.folder, ignore_errors=True)
        assert not words, "\n".join(words)

    def node(self, number):
        return self.nodes[number - 1]

    def sees(self, observer, *up):
        """Does the observer see exactly these nodes up?"""
        told = self.node(observer).status()["nodes"]
        seen = {n["address"].rsplit(":", 1)[0] for n in told if n["up"]}
        return seen == {self.addresses[n - 1] for n in up}

    def wait_up(self, *up):
        for observer in up:
            until(lambda o=observer: self.sees(o, *up))

    def kill(self, number):
        self.node(number).kill()

    def restart(self, number):
        self.node(number).start()
        until(self.node(number).is_serving)

    def each_alone(self):
        """Each of three nodes, by number, while the others are dead: what it says at ONE then is what it
        has itself.  Else a neighbour may be the one that answers."""
        numbers = range(1, len(self.nodes) + 1)
        for alone in numbers:
            if self.node(alone).process.poll() is not None:
                self.restart(alone)
            for number in numbers:
                if number != alone and self.node(number).process.poll() is None:
                    self.kill(number)
            self.wait_up(alone)
            yield alone
        for number in numbers:
            if self.node(number).process.poll() is not None:
                self.restart(number)
        self.wait_up(*numbers)


# ---- as a program ----

class Control(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        verb, *numbers = self.path.strip("/").split("/")
        try:
            assert verb in ("kill", "restart", "wait_up"), verb
            getattr(self.server.ring, verb)(*map(int, numbers))
            self.send_response(200)
        except Exception as e:  # the caller's test fails with it
            print(f"control {self.path}: {e}", file=sys.stderr)
            self.send_response(500)
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--nodes", type=int, default=3)
    p.add_argument("--shards", type=int, default=1)
    p.add_argument("command", nargs="+")
    asked = p.parse_args()
    with Ring(asked.nodes, asked.shards) as ring:
        server = http.server.HTTPServer((ring.addresses[0], 0), Control)
        server.ring = ring
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {**os.environ, "RONDO_HOSTS": ",".join(ring.addresses),
                       "RONDO_CONTROL": f"http://{ring.addresses[0]}:{server.server_port}"}
        return subprocess.call(asked.command, env=environment)


if __name__ == "__main__":
    sys.exit(main())
