"""JAX under Heddle: it looks for a GPU among the files of /dev before it asks the driver."""


def prepare(hardware_utils):
    hardware_utils.has_visible_nvidia_gpu = lambda: True
