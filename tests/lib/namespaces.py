"""namespaces.py - three real nodes, each in a network namespace of its own, and what can go wrong.

    python3 namespaces.py ...        must run where a network and mounts of its own were made:
                                     unshare --net --mount --propagation private

The caller is the client: it stands on the bridge that the nodes hang on.  All of it is gone when
its process has ended, whatever happened.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile

from ring import ENVIRONMENT, Ring

TOP = pathlib.Path(__file__).resolve().parents[2]


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def why_not():
    """Why such a network cannot be made by this user on this machine; None: it can be."""
    words = ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c",
             "mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip netns add x && "
             "ip link add hub type bridge && ip link add end1 type veth peer name end2 && "
             "ip netns exec x iptables -A INPUT -s 10.77.0.9 -j DROP"]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError as e:
        return str(e)
    return done.stderr.strip().splitlines()[-1] if done.returncode else None


def slow_disk_library(folder):
    """A library that makes each sync and each write take longer while a file says how long."""
    out = pathlib.Path(folder) / "slow_disk.so"
    run("cc", "-shared", "-fPIC", "-O1", "-o", out, TOP / "tests/lib/slow_disk.c", "-ldl")
    return out


class Network:
    """The bridge, the namespaces, and a ring in them whose seeds are names; use it as a context."""

    def __init__(self, shards=2, **settings):
        names = ["node1", "node2", "node3"]
        self.ring = Ring(3, shards, prefix="10.77.0", allow_insecure=True, seeds=names, **settings)

    def name_nodes(self):
        """In a file of our own in place of /etc/hosts."""
        lines = [f"{n.address} node{n.number}\n" for n in self.ring.nodes]
        hosts = pathlib.Path(self.ring.folder) / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(lines))
        run("mount", "--bind", hosts, "/etc/hosts")

    def make(self):
        self.name_nodes()
        self.slow = slow_disk_library(self.ring.folder)
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "none", "/run/netns")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "hub", "type", "bridge")
        run("ip", "address", "add", "10.77.0.254/24", "dev", "hub")
        run("ip", "link", "set", "hub", "up")
        for node in self.ring.nodes:
            self.attach(node)

    def attach(self, node):
        name = f"n{node.number}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", f"v{node.number}", "type", "veth", "peer", "name", "eth", "netns", name)
        run("ip", "link", "set", f"v{node.number}", "master", "hub", "up")
        run("ip", "netns", "exec", name, "ip", "address", "add", f"{node.address}/24", "dev", "eth")
        for device in ("lo", "eth"):
            run("ip", "netns", "exec", name, "ip", "link", "set", device, "up")
        node.within = ["ip", "netns", "exec", name]
        node.environment = {
            **ENVIRONMENT, "LD_PRELOAD": str(self.slow), "SLOW_DISK": str(node.folder / "slow"),
            "ASAN_OPTIONS": ENVIRONMENT["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.ring.__exit__(None, None, None)  # its folder
            raise
        self.ring.__enter__()
        return self

    def __exit__(self, *why):
        """Whichever step fails, the others are made: a node that is stopped cannot end."""
        with contextlib.ExitStack() as steps:
            steps.callback(self.ring.__exit__, *why)
            for node in self.ring.nodes:
                steps.callback(self.mend, node)

    # ---- faults; each is ended by heal() ----

    def deafen(self, listener, speaker):
        """What the speaker says does not reach the listener any more."""
        run("ip", "netns", "exec", f"n{listener}", "iptables", "-A", "INPUT", "-s",
            self.ring.addresses[speaker - 1], "-j", "DROP")

    def part(self, *one_side):
        for a in one_side:
            for b in {1, 2, 3} - set(one_side):
                self.deafen(a, b)
                self.deafen(b, a)

    def stop(self, number):
        self.ring.node(number).process.send_signal(signal.SIGSTOP)

    def slow_disk(self, number, milliseconds):
        path = self.ring.node(number).folder / "slow"
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(str(milliseconds))
        os.replace(file.name, path)

    def mend(self, node):
        if node.process and node.process.poll() is None:
            node.process.send_signal(signal.SIGCONT)
        (node.folder / "slow").unlink(missing_ok=True)
        run("ip", "netns", "exec", f"n{node.number}", "iptables", "-F", "INPUT")

    def heal(self):
        """Ends all of them, and starts who has been killed; says whom."""
        started = []
        for node in self.ring.nodes:
            self.mend(node)
            if node.process and node.process.poll() == -signal.SIGKILL:
                node.start()
                started.append(node.number)
        return started
