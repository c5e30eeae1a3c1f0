"""Semantic queries over Synthea's tables that take every way through the compiler."""

from __future__ import annotations

from typing import Any

QUERIES: dict[str, dict[str, Any]] = {
    "count": {"tables": ["encounters"], "measures": [{"function": "count", "alias": "n"}]},
    "every aggregate": {
        "tables": ["encounters"],
        "measures": [
            {"function": f, "column": "encounters.total_claim_cost", "alias": f"m_{f}"}
            for f in ("count", "count_distinct", "sum", "avg", "min", "max", "median")
        ]
        + [{"function": "per_distinct", "column": "encounters.patient", "alias": "per_patient"}],
        "dimensions": [{"column": "encounters.encounterclass"}],
        "order_by": [{"by": "m_sum", "descending": True}],
    },
    "grain, derived join and computed age": {
        "tables": ["encounters"],
        "computed": [
            {"name": "age", "function": "years_between", "start": "patients.birthdate", "end": "encounters.start"},
            {"name": "minutes", "function": "minutes_between", "start": "encounters.start", "end": "encounters.stop"},
            {"name": "days", "function": "days_between", "start": "encounters.start", "end": "encounters.stop"},
        ],
        "measures": [
            {"function": "avg", "column": "age", "alias": "age_avg"},
            {"function": "max", "column": "minutes", "alias": "minutes_max"},
            {"function": "sum", "column": "days", "alias": "days_sum"},
        ],
        "dimensions": [{"column": "encounters.start", "grain": "quarter"}, {"column": "patients.gender"}],
        "filters": [{"column": "age", "operator": "between", "values": [5, 17, 30, 60]}],
        "order_by": [{"by": "quarter"}],
        "limit": 20,
    },
    "patients who have one and not the other": {
        "tables": ["patients"],
        "measures": [{"function": "count", "alias": "n"}],
        "related": [
            {
                "table": "conditions",
                "filters": [{"column": "conditions.description", "operator": "contains", "values": ["SINUSITIS"]}],
            },
            {
                "table": "medications",
                "negated": True,
                "filters": [{"column": "medications.description", "operator": "contains", "values": ["Penicillin"]}],
            },
            {"table": "encounters", "rows": {"operator": ">", "value": 10}},
        ],
    },
    "facts related through a shared key, without multiplying rows": {
        "tables": ["medications"],
        "measures": [{"function": "sum", "column": "medications.totalcost", "alias": "cost"}],
        "related": [
            {
                "table": "conditions",
                "filters": [{"column": "conditions.description", "operator": "contains", "values": ["disorder"]}],
            }
        ],
    },
    "share": {
        "tables": ["patients"],
        "measures": [
            {
                "function": "share",
                "column": "patients.id",
                "alias": "percent",
                "where": [{"column": "patients.gender", "operator": "=", "values": ["f"]}],
                "where_related": [
                    {
                        "table": "encounters",
                        "filters": [
                            {
                                "column": "encounters.encounterclass",
                                "operator": "in",
                                "values": ["Emergency", "INPATIENT"],
                            }
                        ],
                    }
                ],
            }
        ],
    },
    "rows": {
        "tables": ["encounters"],
        "select": ["patients.first", "encounters.start", "encounters.description"],
        "filters": [
            {"column": "encounters.start", "operator": ">=", "values": ["2019-01-01"]},
            {"column": "encounters.start", "operator": "<", "values": ["2020-01-01T12:30:00"]},
            {"column": "encounters.reasoncode", "operator": "is_null"},
            {"column": "encounters.total_claim_cost", "operator": ">", "values": [100.5]},
        ],
        "order_by": [{"by": "encounters.start", "descending": True}, {"by": "encounters.id"}],
        "limit": 30,
    },
    "having and distinct": {
        "tables": ["conditions"],
        "measures": [{"function": "count_distinct", "column": "conditions.patient", "alias": "n"}],
        "dimensions": [{"column": "conditions.description", "alias": "what"}],
        "having": [{"measure": "n", "operator": ">=", "value": 3}],
        "order_by": [{"by": "n", "descending": True}],
        "limit": 5,
    },
    "quotes, percent and underscore in values are only text": {
        "tables": ["patients"],
        "select": ["patients.id"],
        "filters": [{"column": "patients.last", "operator": "contains", "values": ["o'%_\\"]}],
    },
}
