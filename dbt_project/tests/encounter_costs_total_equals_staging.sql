{{ config(meta={'dagster': {'ref': {'name': 'encounter_costs'}}}) }}
-- No cost is lost or counted twice between the encounters and their mart.
with mart as (
    select sum(encounters) as encounters, sum(total_claim_cost) as total, sum(payer_coverage) as covered
    from {{ ref('encounter_costs') }}
),

staging as (
    select count(*) as encounters, sum(total_claim_cost) as total, sum(payer_coverage) as covered
    from {{ ref('stg_encounters') }}
)

select mart.*, staging.encounters as staging_encounters, staging.total as staging_total
from mart
cross join staging
where
    coalesce(mart.encounters, 0) <> staging.encounters
    or coalesce(mart.total, 0) <> coalesce(staging.total, 0)
    or coalesce(mart.covered, 0) <> coalesce(staging.covered, 0)
