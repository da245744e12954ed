"""JAX under Heddle. XLA makes PTX and hands it to the ptxas of a folder in which it also finds libdevice: here to the stand-in, in a folder that has both.

The module of JAX that says where that folder is, and the one that looks for /dev/nvidia0 before it asks the driver for devices, are prepared here."""
import os
import shutil
import tempfile


def prepare(module):
    if module.__name__ == "jax._src.hardware_utils":
        module.has_visible_nvidia_gpu = lambda: True
        return
    stand_in = shutil.which("ptxas")           # `heddle python` has put it in front of PATH
    if module.cuda_path and stand_in:
        module.heddle_folder = tempfile.TemporaryDirectory(prefix="heddle-jax-")
        os.mkdir(os.path.join(module.heddle_folder.name, "bin"))
        os.symlink(stand_in, os.path.join(module.heddle_folder.name, "bin", "ptxas"))
        os.symlink(os.path.join(module.cuda_path, "nvvm"), os.path.join(module.heddle_folder.name, "nvvm"))
        module.cuda_path = module.heddle_folder.name
