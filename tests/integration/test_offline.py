"""Nothing is fetched at run time: the whole smoke runs in a network namespace that has nothing but loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ASKLINE = Path(sys.executable).with_name("askline")
# As root the namespace alone; else a user namespace in which we stay ourselves, since Postgres refuses to be root.
UNSHARE = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-current-user", "--keep-caps"]


@pytest.mark.slow
def test_the_smoke_passes_with_the_network_cut_off() -> None:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("unshare (util-linux) or ip (iproute2) is not installed")
    if subprocess.run([*UNSHARE, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine allows no network namespaces")
    cut_off = [*UNSHARE, "sh", "-c", 'ip link set lo up && ! ip route | grep -q . && exec "$0" demo --check']
    done = subprocess.run([*cut_off, str(ASKLINE)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
