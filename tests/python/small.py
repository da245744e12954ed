"""What the tests here share: need() skips a file whose package is missing, run() runs a module's test_ functions and prints a line each."""
import importlib
import sys
import traceback


def name():
    return sys.argv[0].rsplit("test_", 1)[1].removesuffix(".py")


def need(*modules):
    for m in modules:
        try:
            importlib.import_module(m)
        except ImportError as e:
            print(f"SKIP python/{name()}: {e}")
            sys.exit(0)


def run(module):
    failed = 0
    for key, f in list(vars(module).items()):
        if key.startswith("test_") and callable(f):
            try:
                f()
                print(f"ok python/{name()}/{key[5:]}", flush=True)
            except ImportError as e:                            # of a library of NVIDIA's that the package opens when it is needed
                print(f"SKIP python/{name()}/{key[5:]}: {str(e).splitlines()[0]}", flush=True)
            except Exception:
                failed += 1
                traceback.print_exc()
                print(f"not ok python/{name()}/{key[5:]}", flush=True)
    sys.exit(failed != 0)
