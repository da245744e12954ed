"""Recorded conversations of an editor with `heddle dap`.

    > {"command": "next", "arguments": {"threadId": "@warp"}}     sent; "@NAME" is a value that was kept (@NAME/REST too)
    < {"event": "stopped", "body": {"reason": "step"}}            must come, and have at least these members; what comes before is passed over
    < {"command": "scopes", "body": {"scopes": [{"name": "Registers", "variablesReference": "=registers"}]}}     "=NAME" keeps a value

In an array each expected element must be matched by some element, in order; strings may hold the patterns of sessions. Lines of
one message may go on: the next begins with a blank. The program's path is BUILD/debug-host, written @host; @dir is this folder."""
import json
import os
import re
import selectors
import subprocess
import time


class Failed(Exception):
    pass


def text_matches(expected, got):
    parts = re.split(r"(\{hex\}|\{n\}|\{\*\})", expected)
    patterns = {"{hex}": "0x[0-9a-f]+", "{n}": "-?[0-9]+", "{*}": ".*"}
    return re.fullmatch("".join(patterns.get(p) or re.escape(p) for p in parts), got, re.S) is not None


def matches(expected, got, kept):
    """Whether got has what is expected; fills kept."""
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(k in got and matches(v, got[k], kept) for k, v in expected.items())
    if isinstance(expected, list):
        at = 0
        for e in expected:
            while isinstance(got, list) and at < len(got) and not matches(e, got[at], kept):
                at += 1
            if not isinstance(got, list) or at >= len(got):
                return False
            at += 1
        return True
    if isinstance(expected, str) and expected.startswith("="):
        kept[expected[1:]] = got
        return True
    if isinstance(expected, str) and expected.startswith("@") and expected[1:] in kept:
        return kept.get(expected[1:]) == got
    if isinstance(expected, str) and isinstance(got, str):
        return text_matches(expected, got)
    return type(expected) is type(got) and expected == got


def filled(value, kept):
    if isinstance(value, dict):
        return {k: filled(v, kept) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, kept) for v in value]
    if isinstance(value, str) and value.startswith("@"):
        name, slash, rest = value[1:].partition("/")
        if name in kept:
            return f"{kept[name]}{slash}{rest}" if slash else kept[name]
    return value


class Adapter:
    def __init__(self, build, limit):
        self.process = subprocess.Popen([f"{build}/heddle", "-q", "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.bytes, self.seq, self.end, self.log = b"", 0, time.monotonic() + limit, []
        os.set_blocking(self.process.stdout.fileno(), False)

    def send(self, message):
        self.seq += 1
        message = {"seq": self.seq, "type": "request", **message}
        body = json.dumps(message).encode()
        self.log.append("> " + body.decode())
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def send_raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self):
        while True:
            head, sep, rest = self.bytes.partition(b"\r\n\r\n")
            if sep:
                length = int(re.fullmatch(rb"Content-Length: (\d+)", head).group(1))
                if len(rest) >= length:
                    self.bytes = rest[length:]
                    message = json.loads(rest[:length])
                    self.log.append("< " + json.dumps(message))
                    return message
            with selectors.DefaultSelector() as s:
                s.register(self.process.stdout, selectors.EVENT_READ)
                if not s.select(max(0, self.end - time.monotonic())):
                    raise Failed("no message came any more")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise Failed("the adapter has ended")
            self.bytes += data

    def expect(self, expected, kept):
        while True:
            message = self.receive()
            if matches(expected, message, kept):
                return
            same = message.get("type") == "response" and message.get("command") == expected.get("command")
            if same:
                raise Failed(f"answered {json.dumps(message)[:300]}")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed("it did not end when the editor had gone") from None
        finally:
            self.process.stdout.close()
            self.process.stderr.close()


def messages(path):
    lines = []
    for line in open(path, encoding="utf-8").read().splitlines():
        if line[:1] in "<>!":
            lines.append(line)
        elif line.startswith(" ") and lines:
            lines[-1] += line
    return [line for line in lines if line]


def run(path, build, limit):
    adapter = Adapter(build, limit)
    kept = {"host": os.path.abspath(f"{build}/debug-host"), "dir": os.path.dirname(os.path.abspath(path))}
    at = ""
    try:
        for at in messages(path):
            if at[0] == ">":
                adapter.send(filled(json.loads(at[1:]), kept))
            elif at[0] == "!":
                adapter.send_raw(at[2:].encode().decode("unicode_escape").encode("latin-1"))
            else:
                adapter.expect(json.loads(at[1:]), kept)
        at = "the end"
        adapter.close()
        return None, []
    except (Failed, BrokenPipeError, KeyError) as e:
        adapter.process.kill()
        return f"at `{at[:160]}`: {e}", adapter.log
