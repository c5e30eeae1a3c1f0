-- An encounter without a coverage was paid by the patient; one without a cost counts, and adds nothing.
-- The average is rounded in whole cents: a half of one would go up in Athena and down in DuckDB, which divides in double.
select
    encounter_class,
    payer_id as payer,
    cast(year(started_at) as integer) as year,
    count(*) as encounters,
    cast(coalesce(sum(total_claim_cost), 0) as decimal(18, 2)) as total_claim_cost,
    cast(coalesce(sum(payer_coverage), 0) as decimal(18, 2)) as payer_coverage,
    cast(coalesce(sum(total_claim_cost), 0) - coalesce(sum(payer_coverage), 0) as decimal(18, 2)) as patient_cost,
    cast(
        floor(
            (cast(sum(total_claim_cost) * 200 as double) + count(total_claim_cost)) / (2 * count(total_claim_cost))
        ) / 100 as decimal(18, 2)
    ) as average_claim_cost
from {{ ref('stg_encounters') }}
group by encounter_class, payer_id, year(started_at)
order by encounter_class, payer, year
