"""`torch.onnx`, so that programs can be imported; nothing can be exported.

>>> import gradus.onnx
>>> gradus.onnx.is_in_onnx_export()
False
"""


def export(*args, **kwargs):
    """Raises an error: graphs are not written as ONNX."""
    raise NotImplementedError("onnx.export: graphs cannot be written as ONNX; save the model's state_dict() and export it with PyTorch")


dynamo_export = export


def is_in_onnx_export():
    """`False`: nothing is being exported."""
    return False


def is_onnxrt_backend_supported():
    """`False`."""
    return False


class OnnxExporterError(RuntimeError):
    """The error that PyTorch raises if an export fails."""


def register_custom_op_symbolic(*args, **kwargs):
    """Does nothing, because there is no exporter."""
