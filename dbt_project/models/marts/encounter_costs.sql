-- An encounter without a coverage was paid by the patient; one without a cost counts, and adds nothing.
select
    encounter_class,
    payer_id as payer,
    cast(year(started_at) as integer) as year,
    count(*) as encounters,
    cast(coalesce(sum(total_claim_cost), 0) as decimal(18, 2)) as total_claim_cost,
    cast(coalesce(sum(payer_coverage), 0) as decimal(18, 2)) as payer_coverage,
    cast(coalesce(sum(total_claim_cost), 0) - coalesce(sum(payer_coverage), 0) as decimal(18, 2)) as patient_cost,
    cast(round(sum(total_claim_cost) / count(total_claim_cost), 2) as decimal(18, 2)) as average_claim_cost
from {{ ref('stg_encounters') }}
group by encounter_class, payer_id, year(started_at)
order by encounter_class, payer, year
