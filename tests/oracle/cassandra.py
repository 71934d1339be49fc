"""The Java program as an object: one JVM, one command at a time (README.md says what they are).

with Cassandra("5.0") as cassandra:
    cassandra.ask("dump", data, "out.jsonl")
"""

# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = {"4.1": "nb", "5.0": "oa"}


class NotHere(Exception):
    """Java, Maven or the jars cannot be had."""


class Refused(Exception):
    """Cassandra's answer was an error; its words."""


class Cassandra:
    def __init__(self, version):
        self.version = version
        self.format = FORMATS[version]
        prepared = subprocess.run(
            [HERE / "jvm", version, "--prepare"], stderr=subprocess.PIPE, text=True
        )
        if prepared.returncode == 3:
            raise NotHere(prepared.stderr.strip() or "no java or mvn")
        if prepared.returncode != 0:
            sys.exit(prepared.stderr)
        self.process = subprocess.Popen(
            [HERE / "jvm", version],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, *words):
        """What the command answers; Refused if that is an error."""
        self.process.stdin.write("\t".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Refused(f"the JVM ended (exit {self.process.wait()}) at: {words}")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["ok"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
