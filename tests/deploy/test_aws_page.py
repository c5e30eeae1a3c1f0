"""docs/aws.md adds up, and speaks of the sizes and settings that deploy/cdk has."""

from __future__ import annotations

import re

import pytest

from tests.deploy.dockerfile import ROOT

pytest.importorskip("aws_cdk", reason="make deploy-check installs it")

from deploy.cdk.environment import Places, settings
from deploy.cdk.options import MASTER_INSTANCE, SIZES, Options, Size, read

PAGE = (ROOT / "docs" / "aws.md").read_text(encoding="utf-8")
COSTS, HOW = (part.split("\n\n")[0] for part in re.split(r"\n\| [^\n]*\| small[^\n]*\|\n\|---[^\n]*\n", PAGE)[1:3])
HOURS, VCPU, GB = 730, 0.04048, 0.004445
"""As the page has the last two."""


def cells(table: str) -> dict[str, list[str]]:
    """Name of a row → its other cells."""
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    return {name: rest for name, *rest in rows}


def costs(name: str) -> list[float]:
    return [float(cell.replace(",", "")) for cell in cells(COSTS)[name]]


def price(part: str, name: str) -> float:
    """`name` .123 in the price of a part."""
    (found,) = re.findall(rf"`{re.escape(name)}` (\d*\.\d+)", cells(HOW)[part][0])
    return float(found)


def task(cpu: int, memory: int) -> float:
    return (cpu / 1024 * VCPU + memory / 1024 * GB) * HOURS


def search(size: Size) -> float:
    masters = size.search_masters * price("OpenSearch, nodes", MASTER_INSTANCE.removesuffix(".search"))
    return (
        size.search_nodes * price("OpenSearch, nodes", size.search_instance.removesuffix(".search")) + masters
    ) * HOURS


def database(size: Size) -> float:
    return price("RDS in two zones", size.database_instance) * HOURS + size.database_disk * 0.23


def test_the_costs_of_a_month_add_up() -> None:
    parts = [costs(name) for name in cells(COSTS) if not name.startswith(("a month", "once"))]
    assert [sum(column) for column in zip(*parts, strict=True)] == costs("a month")


def test_servers_and_programs_cost_what_their_sizes_and_the_prices_make() -> None:
    sizes = list(SIZES.values())
    assert costs("OpenSearch, nodes") == [round(search(size)) for size in sizes]
    assert costs("OpenSearch, disks") == [round(size.search_nodes * size.search_disk * 0.122) for size in sizes]
    assert costs("RDS") == [round(database(size)) for size in sizes]
    cache = [price("ElastiCache", size.cache_node.removeprefix("cache.")) for size in sizes]
    assert costs("ElastiCache") == [round(2 * one * HOURS) for one in cache]
    assert costs("Query service") == [round(s.query_tasks * task(s.query_cpu, s.query_memory)) for s in sizes]
    hours = [float(cell.split()[0]) for cell in cells(HOW)["runs"][1:]]
    each = [hour * task(size.run_cpu, size.run_memory) / HOURS for hour, size in zip(hours, sizes, strict=True)]
    assert costs("Runs") == [round(one) for one in each]


def test_the_prices_of_a_task_are_those_of_the_page() -> None:
    assert cells(HOW)["a task"][0] == f"{VCPU:g} a vCPU and {GB:g} a GB an hour".replace("0.", ".")


def test_every_setting_that_the_programs_are_given_is_on_the_page() -> None:
    context = {
        "account": "1",
        "region": "r",
        "tag": "t",
        "certificate": "c",
        "public_url": "u",
        "clients": "10.0.0.0/8",
    }
    options: Options = read({**context, "email": "e", "budget": "1"}.get)
    given = settings(options, Places("b", "q", "k", "d", "s"))
    missing = {name for name in given if name.startswith("ASKLINE_") and f"`{name}`" not in PAGE}
    assert missing == set()


def test_every_choice_is_in_the_command_that_the_page_gives() -> None:
    source = (ROOT / "deploy" / "cdk" / "options.py").read_text(encoding="utf-8")
    asked = set(re.findall(r'\btext\("(\w+)"', source))
    assert asked and {name for name in asked if f"-c {name}=" not in PAGE} == set()
