#!/usr/bin/env python3
"""Random requests to the debugger: to the server in the library by the line protocol, to `heddle dap`, and lines to `heddle debug`.
  tests/fuzz/debug_requests.py [wire|dap|lines] [SECONDS] [SEED]

Each request, however wrong, must have its one answer, in the protocol's form, and nobody may die of it; behind each line comes a prompt. What breaks that is printed with its seed."""
import json
import os
import random
import re
import selectors
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(os.path.join(HERE, "..", ".."))
BUILD = os.environ.get("HEDDLE_BUILD", "build")
PROGRAM = [f"{BUILD}/debug-host", "tests/debug/kernels.ptx", "64", "_Z4fillPii,4,64", "_Z4treePii,1,64", "_Z7divergePii,1,64", "_Z7outsidePii,4,64"]
PATIENCE = 60                                # seconds; only ends what hangs

EXPRESSIONS = ["%r1", "%rd1", "%p1", "%tid.x", "threadIdx", "blockIdx.x", "@shared[3]", "@param0[5]", "@local", "counter", "&counter", "*(float*)&counter", "%r1 + 1", "1 / 0", "%f9",
               "(float4)1", "$_", "$hits", "@param0", "*@param0", "a.b.c", "((((", "1 ? 2 : 3", "counter = 5", "%r2 += 1", "*(int*)0 = 1", "*(char*)-1", "sizeof(5)", "-%r1", "~0", "!1", "'a'", "nothing"]
PLACES = ["kernels.cu:13", "13", "twice", "fill", "*_Z4fillPii+3", "*_Z4fillPii+999999", "ptx:40", "entry", "launch:2", "cycle:5", "error", "divergence", "barrier", "kernels.cu:99999", "nothing.cu:1", "*0x100000001", "fill@ptx:60",
          "::", "launch:", "*", "ptx:"]
NUMBERS = ["0", "1", "2", "3", "5", "17", "-1", "4294967295", "4294967296", "18446744073709551615", "99999999999999999999999", "0x7fffffff", "1e9", "x"]
TRIPLES = ["0", "1,0,0", "3", "0,0", "1,2,3,4", "4294967295,0,0", ",", "-1"]
RUNS = ["continue", "stepi", "stepi 7", "stepi all", "step", "next", "nexti", "finish", "until", "advance twice", "reverse-stepi", "reverse-stepi 20", "reverse-step", "reverse-next", "reverse-continue"]
INFOS = ["kernels", "blocks", "warps", "lanes", "registers", "locals", "streams", "allocations", "functions", "breakpoints", "devices", "line", "barriers", "sm", "modules", "variables", "nothing", ""]


def garbage(r):
    return "".join(chr(r.choice([9, 32, 34, 61, 92, 39, 40, 91, 255, 0x20ac] + list(range(33, 127)))) for _ in range(r.randrange(1, 40)))


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def wire_request(r):
    sane = r.random() < 0.6
    e, p, n, t = r.choice(EXPRESSIONS), r.choice(PLACES), r.choice("01235") if sane else r.choice(NUMBERS), r.choice(["0", "1", "2,0,0"]) if sane else r.choice(TRIPLES)
    if not sane and r.random() < 0.2:
        e = garbage(r)
    if not sane and r.random() < 0.2:
        p = garbage(r)
    options = "".join(r.choice(["", "", "", "", "", "" if sane else f" {n}={e}", f" if={quoted(e)}", f" ignore={n}", " temporary=1", f" block={t}", f" thread={t}", f" warp={n}", f" launch={n}"]) for _ in range(2))
    return r.choice([
        lambda: r.choice(RUNS), lambda: r.choice(RUNS), lambda: f"break at={quoted(p)}{options}", lambda: f"watch {quoted(e)} mode={r.choice(['change', 'write', 'read', 'access', 'x'])} bytes={n}{options}",
        lambda: f"delete {n}", lambda: f"enable {n}", lambda: f"disable {n}", lambda: f"condition {n} {quoted(e)}", lambda: f"ignore {n} {n}", lambda: "where", lambda: f"focus block={t} thread={t}",
        lambda: f"focus warp={n} lane={n} frame={n} launch={n}", lambda: "backtrace", lambda: f"eval {quoted(e)} format={r.choice('xduotfcasq')}", lambda: f"eval {quoted(e)}", lambda: f"read at={quoted(e)} bytes={n}",
        lambda: f"values at={quoted(e)} count={n} size={n} format={r.choice('xduotfcasiq')}", lambda: f"write at={quoted(e)} hex={r.choice(['00', '0', 'zz', '01020304'])}", lambda: f"disassemble at={quoted(p)} count={n}",
        lambda: f"lines file={quoted(p)}", lambda: "sources", lambda: f"ptx from={n} count={n}", lambda: f"complete {quoted(garbage(r) if r.random() < 0.5 else 'fi')}", lambda: f"info {r.choice(INFOS)} {n}",
        lambda: f"info registers all=1 {n}", lambda: f"info line {quoted(p)}", lambda: f"cycle {n}", lambda: "interrupt", lambda: garbage(r), lambda: ""])()


class Broken(Exception):
    pass


class Lines:
    """Whole pieces from a file descriptor, with patience."""

    def __init__(self, fd):
        self.fd, self.buffer = fd, b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(fd, selectors.EVENT_READ)

    def more(self, patience=PATIENCE):
        if not self.selector.select(patience):
            return None
        got = os.read(self.fd, 65536)
        self.buffer += got
        return bool(got)

    def line(self, patience=PATIENCE):
        """A line; None: patience is at an end; "": so is the other side."""
        while b"\n" not in self.buffer:
            more = self.more(patience)
            if not more:
                return None if more is None else ""
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("utf-8", "replace") + "\n"


def wire_session(seed, said):
    r = random.Random(seed)
    mine, theirs = socket.socketpair()
    program = subprocess.Popen([f"{BUILD}/heddle", "-q", f"--mode={r.choice(['run', 'run', 'run', 'sim'])}", "--gpu=v100", *PROGRAM], pass_fds=[theirs.fileno()],
                               env={**os.environ, "HEDDLE_DEBUG_FD": str(theirs.fileno())}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    theirs.close()
    lines, stopped, over = Lines(mine.fileno()), False, False
    begin = r.choice([["break at=entry", "continue"], ["break at=kernels.cu:13", "continue"], ["break at=twice", "continue", "delete"], []])      # to a kernel, most often

    def event(line):
        nonlocal stopped
        said.append("< " + line.rstrip())
        stopped = stopped or line.startswith("* stopped")

    try:
        for number in range(1, r.randrange(20, 120)):
            while not stopped and not over:      # it runs: it stops, or ends, or is stopped
                line = lines.line(2)
                if line is None:
                    said.append("> 999999 interrupt")
                    mine.sendall(b"999999 interrupt\n")
                    line = lines.line()
                    if line is None:
                        raise Broken("it neither stops nor ends")
                over = line == ""
                if line:
                    event(line)
            if over:
                break
            request = begin.pop(0) if begin else wire_request(r).replace("\n", " ")
            said.append(f"> {number} {request}")
            mine.sendall(f"{number} {request}\n".encode())
            while True:
                line = lines.line()
                if line is None:
                    raise Broken("no answer")
                if line == "":
                    over = True
                    break
                if line.startswith("* ") or line.startswith("999999 "):
                    event(line)
                    continue
                said.append("< " + line.rstrip())
                tag, _, rest = line.rstrip("\n").partition(" ")
                if tag != str(number):
                    raise Broken("an answer to nothing")
                if rest.startswith("error"):
                    if not rest[6:].strip():
                        raise Broken("an error without words")
                    break
                if rest == "ok":
                    if any(request.split(" ")[0] == x.split(" ")[0] for x in RUNS + ["cycle"]):
                        stopped = False
                    break
    except OSError:
        pass                                    # it has ended: its status says how
    finally:
        mine.close()
        try:
            status = program.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            program.kill()
            raise Broken("the program does not end after the interface went") from None
    if status not in (0, 1, 2):                 # 1: the kernel's error, or one that was set in it
        raise Broken(f"the program ended with status {status}")


DAP = ["initialize", "configurationDone", "setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints", "setInstructionBreakpoints", "dataBreakpointInfo", "setDataBreakpoints", "threads", "stackTrace",
       "scopes", "variables", "setVariable", "setExpression", "evaluate", "completions", "exceptionInfo", "source", "disassemble", "readMemory", "writeMemory", "continue", "next", "stepIn", "stepOut", "stepBack",
       "reverseContinue", "pause", "nothing"]


def dap_arguments(r, known):
    source = {"path": os.path.abspath("tests/debug/kernels.cu")}
    full = {"threadId": r.choice(known), "frameId": r.choice(known) * 1000, "variablesReference": r.choice(known) * 1000 + r.randrange(5), "expression": r.choice(EXPRESSIONS), "context": r.choice(["repl", "watch", "hover"]),
            "name": r.choice(EXPRESSIONS), "value": r.choice(EXPRESSIONS), "source": source, "breakpoints": [{"line": r.randrange(80), "condition": r.choice(EXPRESSIONS), "name": r.choice(PLACES), "hitCondition": r.choice(NUMBERS),
            "instructionReference": r.choice(NUMBERS), "dataId": r.choice(EXPRESSIONS), "accessType": "write"} for _ in range(r.randrange(3))], "filters": ["errors"], "memoryReference": r.choice(NUMBERS), "offset": r.randrange(-99, 99),
            "count": r.choice([0, 1, 64, 1 << 40, -1]), "instructionCount": r.choice([0, 5, -5, 1 << 40]), "data": r.choice(["AAAA", "!!", ""]), "text": garbage(r), "column": r.randrange(-1, 9), "levels": 20, "startFrame": 0,
            "granularity": r.choice(["instruction", "line", "x"])}
    for key in list(full):                      # some are missing, some are nonsense
        if r.random() < 0.15:
            del full[key]
        elif r.random() < 0.1:
            full[key] = r.choice([None, -1, 1e300, "", [], {}, [None], {"a": 1}, True, garbage(r), 1 << 70])
    return r.choice([full, full, full, full, None, [], "x"])


def dap_session(seed, said):
    r = random.Random(seed)
    adapter = subprocess.Popen([f"{BUILD}/heddle", "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
    lines, number, seqs, known, over = Lines(adapter.stdout.fileno()), 0, [0], [0, 1, 2], False

    def message():
        while b"\r\n\r\n" not in lines.buffer:
            if not lines.more():
                return None
        header, _, rest = lines.buffer.partition(b"\r\n\r\n")
        n = int(header.split(b":")[1])
        while len(rest) < n:
            if not lines.more():
                return None
            rest = lines.buffer.partition(b"\r\n\r\n")[2]
        lines.buffer = rest[n:]
        m = json.loads(rest[:n])
        said.append("< " + json.dumps(m)[:400])
        if m["seq"] <= seqs[-1]:
            raise Broken("seq does not grow")
        seqs.append(m["seq"])
        for t in (m.get("body") or {}).get("threads", []) if m["type"] == "response" else []:
            known.append(t["id"])
        return m

    def call(command, arguments):
        nonlocal number, over
        number += 1
        m = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        said.append("> " + json.dumps(m)[:600])
        text = json.dumps(m).encode()
        adapter.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        while True:
            m = message()
            if m is None:
                over = True
                raise Broken(f"no answer to {command}")
            if m["type"] != "response":
                continue
            if m["request_seq"] != number or m["command"] != command or not isinstance(m["success"], bool):
                raise Broken("a response to something else")
            if not m["success"] and not m.get("message"):
                raise Broken("a refusal without words")
            return

    try:
        call("initialize", {"adapterID": "heddle", "linesStartAt1": r.random() < 0.8})
        call("launch", {"program": PROGRAM[0], "args": PROGRAM[1:], "stopOnEntry": r.random() < 0.5, "sim": r.random() < 0.2, "options": ["--gpu=v100"]})
        for _ in range(r.randrange(10, 80)):
            call(r.choice(DAP), dap_arguments(r, known[-8:]))
        if r.random() < 0.3:
            adapter.stdin.write(r.choice([b"Content-Length: 99999999999999\r\n\r\n", b"garbage\r\n\r\n", b"Content-Length: 5\r\n\r\n[1,2]", b"Content-Length: 3\r\n\r\n{{{", b"\0\0\0\0\r\n\r\n"]))
        else:
            call("disconnect", {"terminateDebuggee": True})
        adapter.stdin.close()
        status = adapter.wait(PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as why:
        raise Broken(str(why)) from None
    finally:
        adapter.kill()
        adapter.wait()
    if status not in (0, 125):
        raise Broken(f"the adapter ended with status {status}")


COMMANDS = re.findall(r'^COMMAND\("([^"]+)",\s+"([^"]+)"', open("runtime/cli/debug.def").read(), re.M)
LEFT_OUT = ("run", "start", "quit", "detach", "checkpoint", "kill", "commands")      # which end the session, write files, or take the lines that follow


def bytes_of(r):
    return bytes(r.choice([0, 1, 9, 27, 32, 34, 39, 40, 92, 127, 128, 195, 255] + list(range(33, 127))) for _ in range(r.choice([1, 5, 40, 300])))


def command_line(r):
    name = r.choice(r.choice([c for c in COMMANDS if c[0] not in LEFT_OUT]))
    e, p, n, t = r.choice(EXPRESSIONS), r.choice(PLACES), r.choice(NUMBERS), r.choice(TRIPLES)
    line = r.choice([
        lambda: name, lambda: f"{name} {n}", lambda: f"{name} {e}", lambda: f"{name} {p}", lambda: f"{name}/{n}{r.choice('xduotfcasibhwgq')}{r.choice('bhwg')} {e}", lambda: f"{name} {p} if {e}", lambda: f"{name} {n} {e}",
        lambda: f"{name} block {t} thread {t} warp {n} if {e}", lambda: f"info {r.choice(INFOS)} {n}", lambda: f"{name} {garbage(r)}", lambda: garbage(r), lambda: "", lambda: f"print {'(' * r.choice([3, 99, 101, 5000])}{e}",
        lambda: f"print {e}{(' + ' + e) * r.choice([1, 5, 900, 1100])}", lambda: f"set {e} = {e}", lambda: f"set var {e} = {n}", lambda: f"x {e}", lambda: f"display {e}", lambda: f"{name} -{n}", lambda: r.choice(RUNS)])()
    data = line.encode()
    if r.random() < 0.15:
        at = r.randrange(len(data) + 1)
        data = data[:at] + bytes_of(r) + data[at:]
    first = data.split(b" ")[0].split(b"/")[0].replace(b"\0", b"").strip()
    return b"" if any(full.encode().startswith(first) and first for full in LEFT_OUT) else data.replace(b"\n", b" ")


def lines_session(seed, said):
    r = random.Random(seed)
    lines = [r.choice([b"break entry", b"break kernels.cu:13", b"break twice"]), b"run", b"delete"] + [command_line(r) for _ in range(r.randrange(10, 100))] + [b"quit 77"]
    said.extend(repr(line)[:300] for line in lines)
    argv = [f"{BUILD}/heddle", "debug", "-q", *r.choice([[], [], [], ["--sim", "--gpu=v100"]]), "-ex", "set trace-commands on", *PROGRAM]
    try:
        done = subprocess.run(argv, input=b"\n".join(lines) + b"\n", capture_output=True, timeout=2 * PATIENCE, check=False)
    except subprocess.TimeoutExpired as why:
        said.extend(repr(line) for line in (why.stderr or b"").splitlines()[-20:])
        raise Broken("it does not come to the last line") from None
    if done.returncode != 77:
        said.extend(repr(line) for line in done.stderr.splitlines()[-20:])
        raise Broken(f"it ended with status {done.returncode}, not by the last line")
    if b"ended by signal" in done.stderr and b"signal 9" not in done.stderr:
        said.extend(repr(line) for line in done.stderr.splitlines()[-60:])
        raise Broken("the program died")


def main():
    words = sys.argv[1:]
    kinds = {"wire": wire_session, "dap": dap_session, "lines": lines_session}
    chosen = [words.pop(0)] if words and words[0] in kinds else list(kinds)
    seconds = float(words.pop(0)) if words else 10
    first = int(words.pop(0)) if words else random.randrange(1 << 30)
    for kind in chosen:
        until, seed = time.monotonic() + seconds, first
        while seed == first or time.monotonic() < until:
            said = []
            try:
                kinds[kind](seed, said)
            except Broken as why:
                print("\n".join(said[-40:]))
                print(f"FAIL debug_requests.py {kind} {seconds:g} {seed}: {why}")
                return 1
            seed += 1
        print(f"ok   debugger, {kind}: {seed - first} sessions of random requests from seed {first}")
    return 0


sys.exit(main())
