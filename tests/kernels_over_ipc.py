"""A pytest plugin: the kernels that nbval starts are reached by sockets in the file system, not by TCP ports.

Jupyter picks a kernel's ports by binding and letting go of them. Two test processes that start a kernel in the
same moment can pick the same ones, and the second kernel dies ("Kernel died before replying to kernel_info").

The kernels know no MONGODB_URI: what a notebook shows must not depend on it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager
from nbval import kernel


class IpcKernelManager(KernelManager):
    """A kernel manager whose sockets lie beside its connection file, in a folder of its own."""

    def __init__(self, **settings: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="nbval-", ignore_cleanup_errors=True)
        super().__init__(transport="ipc", connection_file=str(Path(self._folder.name) / "kernel.json"), **settings)

    def start_kernel(self, **settings: Any) -> Any:
        known = {name: value for name, value in os.environ.items() if name != "MONGODB_URI"}
        return super().start_kernel(env=known, **settings)


if sys.platform != "win32":
    kernel.KernelManager = IpcKernelManager
