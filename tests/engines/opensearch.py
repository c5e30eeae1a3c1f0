"""OpenSearch 2.19.1 with k-NN and hybrid search: the real server, on loopback, without its security plugin.

Faiss and nmslib are not in it: a vector field without `"engine": "lucene"` kills the node at its first document.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.engines import maven
from tests.engines.processes import Engine, EngineFailed, cache_folder, free_port

VERSION = "2.19.1"
LOCK = Path(__file__).with_suffix(".lock")
JAVAS = ("/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "/usr/lib/jvm/java-17-openjdk-arm64/bin/java", "java")
"""2.19 needs the security manager, which Java 24 has no more."""

# The packages of the modules lack what the distribution's build adds to them: a descriptor, and what they may do.
_MODULES = {
    "transport-netty4": ("org.opensearch.transport.Netty4Plugin", ""),
    "lang-painless": ("org.opensearch.painless.PainlessPlugin", ""),
    "analysis-common": ("org.opensearch.analysis.common.CommonAnalysisPlugin", "lang-painless"),
    "mapper-extras": ("org.opensearch.index.mapper.MapperExtrasPlugin", ""),
    "reindex": ("org.opensearch.index.reindex.ReindexPlugin", ""),
}
_PERMISSIONS = {
    "transport-netty4": (
        'java.io.FilePermission "/proc/sys/net/core/somaxconn", "read"',
        'java.net.SocketPermission "*", "accept,connect"',
        'java.lang.RuntimePermission "setContextClassLoader"',
        'java.lang.RuntimePermission "getClassLoader"',
        'java.util.PropertyPermission "sun.nio.ch.bugLevel", "write"',
    ),
    "lang-painless": (
        'java.lang.RuntimePermission "createClassLoader"',
        'java.lang.RuntimePermission "getClassLoader"',
    ),
}
_LOGGING = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


def fetch(cache: Path) -> Path:
    """The server's home below `cache`; 76 MB are fetched at the first time."""
    return maven.lay("opensearch", LOCK, cache, _finish)


def opensearch(
    folder: Path, *, heap: str = "512m", full_jit: bool = False, settings: Mapping[str, str] | None = None
) -> OpenSearch:
    """A node over `folder`, not started yet. Started again, it has its data.

    full_jit: slower to start and faster to answer, for benches. settings: more lines of its opensearch.yml.
    """
    return OpenSearch(folder, fetch(cache_folder()), free_port(), heap, full_jit, settings or {})


class OpenSearch(Engine):
    def __init__(
        self, folder: Path, home: Path, port: int, heap: str, full_jit: bool, settings: Mapping[str, str]
    ) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        for name in ("data", "logs", "tmp", "config"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        config = folder / "config"  # each node's own: it writes its keystore there
        (config / "log4j2.properties").write_text(_LOGGING)
        (config / "opensearch.yml").write_text(
            f"cluster.name: test-{port}\nnode.name: test\npath.data: {folder}/data\npath.logs: {folder}/logs\n"
            f"network.host: 127.0.0.1\nhttp.port: {port}\ntransport.port: 0\ndiscovery.type: single-node\n"
            "cluster.routing.allocation.disk.threshold_enabled: false\n"
            + "".join(f"{name}: {value}\n" for name, value in settings.items())
        )
        super().__init__("opensearch", _command(folder, home, heap, full_jit), folder, self._yellow, env={
            "OPENSEARCH_PATH_CONF": str(config)})  # fmt: skip

    def _yellow(self) -> bool:
        answer = httpx.get(
            f"{self.url}/_cluster/health", params={"wait_for_status": "yellow", "timeout": "1s"}, trust_env=False
        )
        return answer.is_success


def _command(folder: Path, home: Path, heap: str, full_jit: bool) -> list[str]:
    return [
        *(java(), f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC", f"-XX:TieredStopAtLevel={4 if full_jit else 1}"),
        *("-Djava.awt.headless=true", "-Dfile.encoding=UTF-8", "-Djava.locale.providers=SPI,COMPAT"),
        "-Djava.security.manager=allow",
        # Without JNA, with which the node refuses to run as root.
        *("-Djna.nosys=true", "-Djna.noclasspath=true"),
        *("-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true"),
        *("-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true", f"-Djava.io.tmpdir={folder}/tmp"),
        *(f"-Dopensearch.path.home={home}", f"-Dopensearch.path.conf={folder}/config"),
        *("-Dopensearch.distribution.type=tar", "-Dopensearch.bundled_jdk=false"),
        *("-cp", f"{home}/lib/*", "org.opensearch.bootstrap.OpenSearch"),
    ]


def java() -> str:
    """ASKLINE_ENGINES_JAVA17, else Debian's Java 17, else the one on PATH."""
    for candidate in (os.environ.get("ASKLINE_ENGINES_JAVA17"), *JAVAS):
        if candidate and (found := shutil.which(candidate)):
            return found
    raise EngineFailed("No Java 17. Install it (Debian: apt-get install openjdk-17-jre-headless) and try again.")


def _finish(home: Path) -> None:
    for module, (class_name, extends) in _MODULES.items():
        (home / "modules" / module / "plugin-descriptor.properties").write_text(
            f"name={module}\ndescription={module}\nversion={VERSION}\nopensearch.version={VERSION}\njava.version=11\n"
            f"classname={class_name}\nextended.plugins={extends}\nhas.native.controller=false\n"
        )
    for module, permissions in _PERMISSIONS.items():
        granted = "".join(f"  permission {one};\n" for one in permissions)
        (home / "modules" / module / "plugin-security.policy").write_text(f"grant {{\n{granted}}};\n")
    for folder in ("config", "bin"):  # the node would make them, which fails in a home that it may not write to
        (home / folder).mkdir()
    (home / "config" / "opensearch.yml").touch()
