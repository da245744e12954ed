"""Back and forth on the simulated GPU: a session that goes back ends with the very statistics and samples of one that does not, and comes to the same places at the same cycles."""
import os
import re
import subprocess
import tempfile

def session(build, limit, program, commands, folder):
    options = ["--sim", "--gpu=h100", f"--out={folder}", "--sample.every=700"]
    done = subprocess.run([f"{build}/heddle", "debug", "-q", "-ex", "set trace-commands on"] + options + [f"{build}/debug-host"] + program.split(),
                          input="\n".join(commands + ["delete", "continue"]).encode() + b"\n", capture_output=True, timeout=limit)
    said = done.stderr.decode(errors="replace")
    files = [open(os.path.join(folder, f), encoding="utf-8").read() for f in ("stats.jsonl", "samples.csv")]
    return files, done.stdout.decode(errors="replace"), said, done.returncode


def places(said, steps):
    """Behind each step: the cycle, the place in the code and the thread, as the commands behind it print them."""
    found = []
    for part in said.split("(heddle) ")[1:]:
        if part.split("\n")[0] in steps:
            found.append([])
        if found:
            found[-1] += re.findall(r"^\$\d+ = (\S+)$", part, re.M)
    return found


def cycle_break(build, limit):
    """A breakpoint at a cycle is come to from behind as well."""
    program, look = "tests/debug/back.ptx 256 _Z4stirPii,4,64", ["print $cycle"]
    with tempfile.TemporaryDirectory() as a:
        _, _, said, _ = session(build, limit, program, ["break back.cu:16 thread 8 block 1,0,0", "run"] + look + ["continue"] + look + ["continue"] + look, a)
        first, second, third = (int(f[0]) for f in places(said, ("run", "continue"))[:3])
        cycle = (first + second) // 2
        _, _, said, _ = session(build, limit, program, ["break back.cu:16 thread 8 block 1,0,0", "run", "continue", "continue", f"break cycle:{cycle}"] +
                                (["reverse-continue"] + look) * 3 + (["continue"] + look) * 3, a)
    wanted = [[str(c)] for c in (second, cycle, first, cycle, second, third)]
    found = places(said, ("reverse-continue", "continue"))[2:8]
    near = lambda f, w: len(f) == 1 and abs(int(f[0]) - int(w[0])) <= 1
    return (None if len(found) == 6 and all(map(near, found, wanted)) else f"came to {found}, not {wanted}"), said.splitlines()


def never_back(build, limit, program, before):
    """With kernels in several streams (-a) one of a few: on a busy machine the second may be there later, which is another run."""
    with tempfile.TemporaryDirectory() as a:
        files, printed, _, _ = session(build, limit, program, before + ["run"], a)
    return files, printed


# name: program, commands before, the step forward, the step back, how many
TESTS = {
    "stops": ("tests/debug/back.ptx 256 _Z4stirPii,4,64", ["break back.cu:16 thread 8"], "continue", "reverse-continue", 20),
    "steps": ("tests/debug/back.ptx 256 _Z4stirPii,4,64", ["tbreak back.cu:13 block 2,0,0"], "stepi", "reverse-stepi", 40),
    "lines": ("tests/debug/back.ptx 256 _Z4stirPii,1,32", ["tbreak back.cu:13"], "next", "reverse-next", 9),
    # one block: a stop at a cycle ends a window, and what blocks that race read from each other depends on windows
    "cycles": ("tests/debug/back.ptx 256 _Z4stirPii,1,64", ["tbreak back.cu:16"], "cycle 333", "reverse-cycle 333", 6),
    "cycle-break": cycle_break,
    "malloc": ("tests/debug/back.ptx 256 _Z4keepPii,2,64", ["break back.cu:27 thread 40"], "continue", "reverse-continue", 7),
    "kernels": ("-a tests/debug/back.ptx 256 _Z4stirPii,4,64 _Z4stirPii,3,32", ["break back.cu:16 thread 0"], "continue", "reverse-continue", 12),
    "clusters": ("tests/debug/ring.ptx 256 _Z4ringPii,8,64", ["tbreak ring.cu:14 block 5,0,0"], "stepi", "reverse-stepi", 25),
    "cycles-of-clusters": ("tests/debug/ring.ptx 256 _Z4ringPii,8,64", ["tbreak ring.cu:14 block 5,0,0"], "cycle 97", "reverse-cycle 60", 4),
    "many": ("tests/debug/back.ptx 4096 _Z4stirPii,2000,64", ["break back.cu:16 thread 8 block 1900,0,0"], "continue", "reverse-continue", 5),
}


def run(name, build, limit):
    if callable(TESTS[name]):
        return TESTS[name](build, limit)
    program, before, forth, back, n = TESTS[name]
    look = [f"print {what}" for what in ("$cycle", "$launch", "blockIdx.x", "threadIdx.x", "$warp")]
    go = [c for c in [forth] * n + [back] * n + [forth] * n for c in [c] + look]
    with tempfile.TemporaryDirectory() as b:
        files, again, said, status = session(build, limit, program, before + ["run"] + look + go, b)
    found = places(said, ("run", forth, back))[:3 * n + 1]
    text = said.splitlines()
    if status or len(found) != 3 * n + 1 or any(len(f) != len(look) for f in found):
        return f"exit status {status}, {len(found)} stops of {3 * n + 1}", text
    there, here, once_more = found[:n + 1], found[n + 1:2 * n + 1], found[2 * n + 1:]
    # a step back ends where the step began, a hit is before the hit behind it
    exact = not name.startswith("cycles-of")       # there the first warp that comes to a cycle stops
    if exact and here != there[-2::-1]:
        return f"went back to {here}, had come by {there[:-1]}", text
    if exact and once_more != there[1:]:
        return f"came to {once_more}, the first time to {there[1:]}", text
    if not any(never_back(build, limit, program, before) == (files, again) for _ in range(1 + 4 * program.startswith("-a"))):
        return "cycles, statistics or what the program prints differ from a session that never went back", text
    return None, text
