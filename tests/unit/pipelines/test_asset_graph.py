import dagster as dg
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from cli.stack import CODE_LOCATIONS, ROOT
from foundation.settings import AdapterSettings, Settings
from pipelines import definitions
from pipelines.assets import common
from pipelines.transform import definitions as transform


def test_the_asset_graph_is_what_the_snapshot_says(snapshot: SnapshotAssertion) -> None:
    graph = dg.Definitions.merge(definitions.defs, transform.defs).resolve_asset_graph()
    shape = {
        key.to_user_string(): {
            "parents": sorted(parent.to_user_string() for parent in graph.get(key).parent_keys),
            "group": graph.get(key).group_name,
            "partitioned": graph.get(key).is_partitioned,
            "checks": sorted(check.name for check in graph.get_check_keys_for_assets({key})),
        }
        for key in graph.get_all_asset_keys()
    }
    assert shape == snapshot


def test_dagster_dev_loads_the_locations_that_the_stack_starts() -> None:
    workspace = yaml.safe_load((ROOT / "workspace.yaml").read_text())
    modules = [entry["python_module"] for entry in workspace["load_from"]]
    assert {module["location_name"]: module["module_name"] for module in modules} == CODE_LOCATIONS


def test_a_run_of_the_ingest_does_not_wait_for_dbts_imports() -> None:
    import subprocess
    import sys

    code = "import sys, pipelines.definitions; sys.exit('dagster_dbt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_an_asset_is_of_the_kind_of_the_engine_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = AdapterSettings(search="aws", objects="embedded")
    monkeypatch.setattr(common, "get_settings", lambda: Settings(adapters=chosen))
    assert [common.made_by(port) for port in ("objects", "embeddings", "search")] == ["file", "onnx", "opensearch"]
