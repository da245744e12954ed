"""On the path of every interpreter that `heddle python` starts: what is imported from PACKAGES is prepared by a module here."""
import importlib
import importlib.abc
import importlib.machinery
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = {"torch": "heddle_torch", "jax._src.lib": "heddle_jax", "jax._src.hardware_utils": "heddle_jax"}


class Finder(importlib.abc.MetaPathFinder):
    """Finds a module as others would, and gives it a loader that hands it on when it is there."""
    def find_spec(self, name, path, target=None):
        if name not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = Loader(spec.loader, PACKAGES[name])
        return spec


class Loader(importlib.abc.Loader):
    def __init__(self, loader, helper):
        self.loader, self.helper = loader, helper

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        importlib.import_module(self.helper).prepare(module)


sys.meta_path.insert(0, Finder())

# An interpreter runs one sitecustomize: the one that ours hides comes after it.
for folder in sys.path:
    other = os.path.join(folder, "sitecustomize.py")
    if os.path.abspath(folder or ".") != HERE and os.path.isfile(other):
        with open(other) as file:
            exec(compile(file.read(), other, "exec"), {"__name__": "sitecustomize", "__file__": other})
        break
