"""What keeps a node from starting is one line - what, where, what to do - and exit code 1."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest
from journal_file import records, rewrite
from ring import BUILD, DEADLINE, ENVIRONMENT, Node, Ring, until


def rondod(*words, cwd=None):
    """Runs it to its end: exit code, output, errors."""
    done = subprocess.run(
        [BUILD / "rondod", *map(str, words)],
        cwd=cwd,
        env=ENVIRONMENT,
        timeout=DEADLINE,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def refused(config):
    code, out, err = rondod("--config", config)
    lines = err.splitlines()
    assert (code, out, len(lines)) == (1, "", 1), f"exit {code}: {out}{err}"
    assert lines[0].startswith("rondod: ") and len(lines[0]) < 600
    return lines[0]


@pytest.fixture
def one():
    """A node that is configured and not started."""
    ring = Ring(nodes=1)
    ring.node(1).configure()
    yield ring.node(1)
    ring.__exit__()


def started(node):
    node.start()
    until(node.is_serving)


# ---- the command line ----------------------------------------------------------------------


def test_version_help_and_print_config():
    version = (pathlib.Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()
    assert rondod("--version") == (0, f"rondod {version}\n", "")
    code, out, err = rondod("--help")
    assert (code, err) == (0, "") and "--config" in out and "exit codes" in out
    code, out, err = rondod("--print-config")
    shipped = pathlib.Path(__file__).resolve().parents[2] / "config" / "rondo.yaml"
    assert (code, out, err) == (0, shipped.read_text(), "")


@pytest.mark.parametrize(
    "words",
    [["--nonsense"], ["--config"], ["file.yaml"], ["--version", "--help"], ["--config", "a", "b"]],
)
def test_wrong_usage_is_2_and_starts_nothing(words, tmp_path):
    code, out, err = rondod(*words, cwd=tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and "--help" in err
    assert not list(tmp_path.iterdir())


# ---- the configuration ---------------------------------------------------------------------

WRONG = {
    "unknown key": ("cluster_name: x\nclutser: y\n", "2:1", "clutser"),
    "near miss": ("num_token: 16\n", "1:1", "num_token"),
    "not a number": ("num_tokens: many\n", "1:13", "num_tokens"),
    "too large": ("num_tokens: 5000\n", "1:13", "256"),
    "negative port": ("\nstorage_port: -1\n", "2:15", "storage_port"),
    "port too large": ("native_transport_port: 70000\n", "1:24", "65535"),
    "a list for a number": ("num_tokens: [1, 2]\n", "1:13", "num_tokens"),
    "a map for a text": ("cluster_name: {a: b}\n", "1:15", "cluster_name"),
    "no unit": ("commitlog_segment_size: 32\n", "1:25", "commitlog_segment_size"),
    "unknown unit": ("read_request_timeout: 5parsecs\n", "1:23", "read_request_timeout"),
    "not a choice": ("commitlog_sync: sometimes\n", "1:17", "periodic"),
    "given twice": ("num_tokens: 1\nnum_tokens: 2\n", "2:1", "num_tokens"),
    "memory too small": ("memory_limit: 1MiB\n", "1:15", "memory_limit"),
    "too many shards": ("shards: 1000\n", "1:9", "shards"),
    "a list that never ends": ("num_tokens: 4\ncluster_name: [\n", "2:15", "cluster_name"),
    "tab": ("cluster_name:\n\tx: y\n", "2:", ""),
    "not a map": ("- a\n- b\n", "1:1", ""),
    "two ports on one address": ("storage_port: 9042\n", "1:", "storage_port"),
    "one folder for two": (
        "commitlog_directory: /tmp/x\nhints_directory: /tmp/x\n",
        "2:",
        "hints_directory",
    ),
    "broadcast to everywhere": ("broadcast_address: 0.0.0.0\n", "1:", "broadcast_address"),
    "listening everywhere": ("listen_address: 0.0.0.0\n", "1:", "broadcast_address"),
    "a compaction that no table takes": (
        "\ndefault_compaction:\n  class_name: UnifiedCompactionStrategy\n  parameters: {min_threshold: 4}\n",
        "2:",
        "default_compaction: UnifiedCompactionStrategy has no option 'min_threshold'; it has",
    ),
    "scaling parameters that are none": (
        "default_compaction:\n  class_name: UnifiedCompactionStrategy\n  parameters: {scaling_parameters: L1}\n",
        "1:",
        "default_compaction: scaling_parameters is a list such as T4, L10, N, -8 (got 'L1')",
    ),
    "parts larger than the whole": (
        "memory_limit: 64MiB\nmemtable_heap_space: 60MiB\nfile_cache_size: 60MiB\n",
        "1:",
        "memtable_heap_space",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_setting_is_named_with_its_place(case, tmp_path):
    text, place, word = WRONG[case]
    config = tmp_path / "rondo.yaml"
    config.write_text(text)
    line = refused(config)
    assert f"{config}:{place}" in line and word in line, line
    assert re.search(re.escape(str(config)) + r":\d+:\d+: ", line), line
    assert list(tmp_path.iterdir()) == [config], "nothing was made"


def test_configurations_that_are_none(tmp_path):
    assert "No such file" in refused(tmp_path / "nowhere.yaml")
    assert "cannot read" in refused(tmp_path) and str(tmp_path) in refused(tmp_path)
    (tmp_path / "bytes.yaml").write_bytes(bytes(range(256)) * 10)
    assert "bytes.yaml" in refused(tmp_path / "bytes.yaml")
    (tmp_path / "large.yaml").write_text("# x\n" * 400000)
    assert "1 MiB" in refused(tmp_path / "large.yaml")
    (tmp_path / "bomb.yaml").write_text(
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n"
            for i in range(9)
        )
    )
    assert "bomb.yaml" in refused(tmp_path / "bomb.yaml")


# ---- addresses and ports -------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting,port", [("native_transport_port", 9042), ("storage_port", 7000), ("admin_port", 9180)]
)
def test_a_port_that_is_taken(one, setting, port):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((one.address, port))
        taken.listen()
        line = one.refusal()
    assert (
        setting in line and f"{one.address}:{port}" in line and f"pid {os.getpid()}" in line
    ), line
    started(one)  # and nothing was left behind


@pytest.mark.parametrize("setting", ["listen_address", "rpc_address", "admin_address"])
def test_an_address_that_is_not_ours(one, setting):
    one.configure(**{setting: "192.0.2.1", "allow_insecure": True})
    line = one.refusal()
    assert "192.0.2.1" in line and setting in line and "insecure" not in line, line


@pytest.mark.parametrize("setting", ["listen_address", "rpc_address", "admin_address"])
def test_an_address_beyond_loopback_has_to_be_allowed(one, setting):
    one.configure(**{setting: "192.0.2.1"})
    line = one.refusal()
    assert f"{setting}: '192.0.2.1'" in line and "allow_insecure: true" in line, line
    assert re.search(r"rondo\.yaml:\d+:\d+: ", line), line


@pytest.mark.parametrize("setting", ["listen_address", "broadcast_rpc_address"])
def test_the_word_hostname_is_the_name_of_the_machine(one, setting):
    """In a namespace where the machine has a name that stands for no address."""
    one.configure(**{setting: "hostname"})
    script = 'hostname no-such-host.invalid && exec "$0" --config "$1"'
    words = ["unshare", "--uts", "sh", "-c", script, BUILD / "rondod", one.folder / "rondo.yaml"]
    if subprocess.run([*words[:2], "true"], capture_output=True).returncode:
        pytest.skip("this user may not make namespaces")
    done = subprocess.run(words, env=ENVIRONMENT, timeout=DEADLINE, capture_output=True, text=True)
    assert done.returncode == 1 and f"{setting}: cannot resolve 'no-such-host.invalid'" in done.stderr


@pytest.mark.parametrize("setting", ["listen_address", "rpc_address", "admin_address"])
def test_a_name_that_is_nobodys(one, setting):
    one.configure(**{setting: "no-such-host.invalid"})
    line = one.refusal()
    assert "no-such-host.invalid" in line and setting in line, line


# ---- folders -------------------------------------------------------------------------------

FOLDERS = {
    "data_file_directories": lambda path: [path],
    "commitlog_directory": str,
    "hints_directory": str,
    "log_file": str,
}


@pytest.mark.parametrize("setting", FOLDERS)
@pytest.mark.parametrize("where", ["under a file", "/proc"])
def test_a_folder_that_cannot_be_made(one, setting, where):
    path = (
        one.folder / "rondo.yaml" / "x"
        if where == "under a file"
        else pathlib.Path("/proc/rondo/x")
    )
    one.configure(**{setting: FOLDERS[setting](str(path))})
    line = one.refusal()
    assert setting in line and str(path) in line, line


@pytest.mark.parametrize(
    "setting", ["data_file_directories", "commitlog_directory", "hints_directory"]
)
def test_a_folder_that_may_not_be_written(one, setting):
    if os.geteuid() == 0:  # root may write everywhere: without that right
        one.rights = ["--bounding-set", "-dac_override,-dac_read_search"]
    locked = one.folder / "locked"
    locked.mkdir(mode=0o500)
    one.configure(**{setting: FOLDERS[setting](str(locked / "x"))})
    assert setting in one.refusal()


def test_not_enough_disk(one):
    """A small tmpfs stands for a full disk; needs the right to mount one."""
    small = one.folder / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", small], capture_output=True
    ).returncode:
        pytest.skip("this user may not mount")
    try:
        one.configure(commitlog_directory=str(small / "commitlog"))
        line = one.refusal()
        assert "not enough disk" in line and str(small) in line and "MiB" in line, line
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_data_folder_that_another_node_uses(one):
    started(one)
    config = one.folder / "second.yaml"
    other = ".".join(one.address.split(".")[:3]) + ".77"
    config.write_text((one.folder / "rondo.yaml").read_text().replace(one.address, other))
    line = refused(config)
    assert str(one.folder / "data") in line and "another rondod" in line, line
    assert one.is_serving()


def test_a_data_folder_of_another_cluster(one):
    started(one)
    assert one.stop() == 0
    one.configure(cluster_name="another")
    line = one.refusal()
    assert '"test"' in line and '"another"' in line and "metadata" in line, line
    one.configure()
    started(one)


# ---- the metadata log ----------------------------------------------------------------------


def segments(node):
    return sorted((node.folder / "data" / "metadata").iterdir(), key=lambda p: int(p.stem))


def test_a_corrupted_metadata_log(one):
    started(one)
    assert one.stop() == 0
    (path,) = segments(one)
    intact = path.read_bytes()
    places = [at + n for at, record in records(path) for n in (0, len(record) - 1)] + [4096]
    assert len(places) > 4
    for at in places:
        path.write_bytes(intact[:at] + bytes([intact[at] ^ 1]) + intact[at + 1 :])
        line = one.refusal()
        assert f"{path} is corrupt at offset" in line, line
    path.write_bytes(intact)
    started(one)


def test_metadata_of_a_newer_version(one):
    """The version that stands in the log's first record, raised, with its checksums made right."""
    started(one)
    assert one.stop() == 0
    for path in segments(one):
        rewrite(
            path,
            lambda record: (
                record[:2] + bytes([100]) + record[3:] if record[:2] == b"\x94\x01" else record
            ),
        )
    line = one.refusal()
    assert "newer version" in line and "metadata" in line, line


# ---- a ring that it does not belong to -----------------------------------------------------


@pytest.fixture(scope="module")
def ring():
    with Ring(nodes=3) as ring:
        yield ring


def test_a_node_that_is_no_member(ring):
    """Its own address is not among the seeds, which have a cluster."""
    with Ring(nodes=0) as alone:
        fourth = Node(alone, 1, ".".join(ring.addresses[0].split(".")[:3]) + ".99")
        fourth.configure(seeds=ring.addresses)
        line = fourth.refusal()
        assert "joining is not there yet" in line, line
        fourth.configure(seeds=[*ring.addresses, fourth.address])
        shutil.rmtree(fourth.folder / "data")
        line = fourth.refusal()
        assert "joining is not there yet" in line and ring.addresses[0][:8] in line, line


def test_a_node_whose_folder_was_emptied(ring):
    ring.node(3).stop()
    kept = ring.node(3).folder / "kept"
    shutil.move(ring.node(3).folder / "data", kept)
    line = ring.node(3).refusal()
    assert "joining is not there yet" in line, line
    shutil.rmtree(ring.node(3).folder / "data")
    shutil.move(kept, ring.node(3).folder / "data")
    ring.restart(3)
    ring.wait_up(1, 2, 3)


def test_a_node_of_another_cluster_name(ring):
    with Ring(nodes=0) as alone:
        other = Node(alone, 1, ".".join(ring.addresses[0].split(".")[:3]) + ".98")
        other.configure(cluster_name="another", seeds=[ring.addresses[0], other.address])
        line = other.refusal()
        assert '"test"' in line and '"another"' in line and ring.addresses[0] in line, line


def test_nodes_that_do_not_agree_on_tokens():
    ring = Ring(nodes=2)
    try:
        ring.node(1).configure(num_tokens=8)
        ring.node(2).configure(num_tokens=16)
        for node in ring.nodes:
            node.start()
        until(lambda: any(node.process.poll() is not None for node in ring.nodes))
        for node in ring.nodes:  # the other one may have seen it too, or waits
            if node.process.poll() is not None:
                assert node.process.poll() == 1 and "num_tokens" in node.said(), node.said()
            else:
                node.kill()
            node.process = None
    finally:
        ring.__exit__()


# ---- stopping while starting ---------------------------------------------------------------


def test_a_node_that_waits_for_its_seeds_can_be_stopped():
    ring = Ring(nodes=3)
    try:
        node = ring.node(1)
        node.configure()
        node.start()
        until(lambda: (node.folder / "data" / "metadata").exists())
        begun = time.monotonic()
        assert node.stop() == 0
        assert time.monotonic() - begun < 10
    finally:
        ring.__exit__()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_moment_of_the_start(one, sent):
    for delay_ms in (0, 5, 20, 50, 100, 200):
        one.start()
        time.sleep(delay_ms / 1000)  # no event to wait for: any moment is meant
        one.process.send_signal(sent)
        code = one.process.wait(timeout=DEADLINE)
        assert code in (0, -sent), one.said()  # -sent: before it could listen for it
    one.process = None
