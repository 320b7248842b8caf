"""The older name of `hub`."""

from ..hub import load_state_dict_from_url as load_url, load_state_dict_from_url  # noqa: F401
