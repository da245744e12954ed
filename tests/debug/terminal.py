"""The debugger on a pseudo-terminal: what a user's keys do."""
import os
import pty
import re
import select
import signal
import time


class Failed(Exception):
    pass


class Terminal:
    def __init__(self, argv, limit):
        self.text, self.seen, self.end = "", 0, time.monotonic() + limit
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", "NO_COLOR": "1"})
            os.execv(argv[0], argv)

    def keys(self, text):
        os.write(self.fd, text.encode())

    def wait(self, wanted):
        """Until `wanted` (a regular expression) has come since the last wait."""
        while True:
            m = re.search(wanted, self.text[self.seen:], re.S)
            if m:
                self.seen += m.end()
                return m
            ready, _, _ = select.select([self.fd], [], [], max(0, self.end - time.monotonic()))
            if not ready:
                raise Failed(f"no /{wanted}/ came")
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                raise Failed(f"ended before /{wanted}/")
            self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode(errors="replace"))

    def line(self, text):
        self.keys(text + "\r")

    def status(self):
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > self.end:
                raise Failed("it did not end")
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            try:
                if ready:
                    os.read(self.fd, 65536)
            except OSError:
                time.sleep(0.05)

    def close(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)


P = r"\(heddle\) "


def editing(t):
    """Backspace, the arrow keys, history, an empty line, completion of commands and screens."""
    t.wait(P)
    t.line("echo onex\x7f\\n")                  # backspace
    t.wait("\none\r?\n.*" + P)
    t.line("echo to\x1b[Dw\x05\\n")             # left, end of line
    t.wait("\ntwo\r?\n.*" + P)
    t.keys("\x10\x10\r")                        # ^P ^P: the line before the last
    t.wait("\none\r?\n.*" + P)
    t.line("info displa\t")
    t.wait("nothing is displayed.*" + P)
    t.line("")                                  # again
    t.wait("nothing is displayed.*" + P)
    t.keys("info brea\t\t")
    t.wait("kpoints")                           # the terminal shows only what is new
    t.keys("\x03")
    t.wait(r"\^C.*" + P)
    t.keys("reverse-\t\t")
    t.wait("reverse-continue.*reverse-stepi")
    t.keys("\x15quit\r")


def empty_lines(t):
    """Many of them, before anything was typed; then the end of the input."""
    t.wait(P)
    for _ in range(5):
        t.line("")
        t.wait(P)
    t.keys("\x04")


def interrupt_prompt(t):
    """Ctrl-C at the prompt drops the line and nothing else."""
    t.wait(P)
    t.keys("quit 9\x03")
    t.wait(r"\^C.*" + P)
    t.line("echo alive\\n")
    t.wait("\nalive\r?\n.*" + P)
    t.line("quit")


def interrupt_kernel(t):
    """Ctrl-C stops a kernel that would never end; the session goes on, and so does the kernel."""
    t.wait(P)
    t.line("run")
    for _ in range(2):
        time.sleep(0.5)
        t.keys("\x03")
        t.wait("Interrupted, spin.*" + P)
        t.line("print $launch")
        t.wait(r"\$\d+ = 1.*" + P)
        t.line("continue")
    time.sleep(0.3)
    t.keys("\x03")
    t.wait("Interrupted.*" + P)
    t.line("kill")
    t.wait("killed.*" + P)
    t.line("quit")


def completion(t):
    """Names of the program: kernels and variables, from the library."""
    t.wait(P)
    t.line("start")
    t.wait("Temporary breakpoint 1, entry: fill.*" + P)
    t.keys("print counte\t\r")
    t.wait(r"\$1 = 0\r?\n.*" + P)
    t.keys("print coun\t\t")                    # count, a kernel, and counter
    t.wait("count +counter")
    t.keys("\x03")
    t.wait(r"\^C.*" + P)
    t.line("quit")


def program_input(t):
    """The program reads the terminal itself."""
    t.wait(P)
    t.line("run")
    t.line("typed by hand")
    t.wait("read: typed by hand")
    t.keys("\x04")
    t.wait("sum 4096.*ended with status 0.*" + P)
    t.line("quit")


def interrupt_host(t):
    """Ctrl-C while no kernel runs: said so, and the second one gives the prompt; the program goes on."""
    t.wait(P)
    t.line("run")
    time.sleep(0.3)
    t.keys("\x03")
    t.wait("called no CUDA function yet; Ctrl-C again")
    t.keys("\x03")
    t.wait("goes on.*" + P)
    t.line("print 1")
    t.wait("called no CUDA function yet; `continue` waits.*" + P)
    t.line("info program")
    t.wait("state +running.*" + P)
    t.line("continue")
    time.sleep(0.2)
    t.keys("\x03")
    t.wait("Ctrl-C again")
    t.keys("\x03")
    t.wait("goes on.*" + P)
    t.line("kill")
    t.wait("killed.*" + P)
    t.line("quit")


TESTS = {"interrupt-host": (interrupt_host, ["/bin/sleep", "100"]),
         "editing": (editing, []), "empty-lines": (empty_lines, []), "interrupt-prompt": (interrupt_prompt, []),
         "interrupt-kernel": (interrupt_kernel, ["tests/debug/kernels.ptx", "64", "_Z4spinPii,1,32"]),
         "completion": (completion, ["tests/debug/kernels.ptx", "64", "_Z4fillPii,2,32"]),
         "program-input": (program_input, ["-i", "tests/debug/kernels.ptx", "64", "_Z4fillPii,2,32"])}


def run(name, build, limit):
    test, args = TESTS[name]
    program = args if args and args[0].startswith("/") else [f"{build}/debug-host"] + args
    t = Terminal([f"{build}/heddle", "debug", "-q"] + program, limit)
    try:
        test(t)
        status = t.status()
        return (f"exit status {status}" if status else None), t.text.splitlines()
    except Failed as e:
        return str(e), t.text.splitlines()
    finally:
        t.close()
