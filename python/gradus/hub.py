"""`torch.hub`, so that programs can be imported: nothing is ever downloaded.

>>> import gradus
>>> gradus.hub.load_state_dict_from_url("https://example.org/model.pth")
Traceback (most recent call last):
RuntimeError: hub.load_state_dict_from_url: nothing is downloaded; get the file yourself and read it with gradus.load
"""

import os
import re
from urllib.parse import urlparse  # noqa: F401

#: The part of a file name that contains the hash in PyTorch.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_folder = []


def _get_torch_home():
    """Returns the folder in which PyTorch stores files."""
    return os.environ.get("TORCH_HOME", os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "torch"))


def get_dir():
    """Returns the folder to which PyTorch would download."""
    return _folder[-1] if _folder else os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Sets the result of `get_dir`."""
    _folder[:] = [os.path.expanduser(d)]


def _absent(name):
    def raising(*args, **kwargs):
        raise RuntimeError(f"hub.{name}: nothing is downloaded; get the file yourself and read it with gradus.load")

    raising.__name__ = raising.__qualname__ = name
    return raising


load_state_dict_from_url, download_url_to_file, load = map(_absent, ("load_state_dict_from_url", "download_url_to_file", "load"))
