from syrupy.assertion import SnapshotAssertion

from pipelines.definitions import defs


def test_the_asset_graph_is_what_the_snapshot_says(snapshot: SnapshotAssertion) -> None:
    graph = defs.resolve_asset_graph()
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
