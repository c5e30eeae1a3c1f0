{{ config(meta={'dagster': {'ref': {'name': 'patients_by_condition'}}}) }}
-- Every condition is counted once.
select mart.occurrences, staging.occurrences as staging_occurrences
from (select coalesce(sum(occurrences), 0) as occurrences from {{ ref('patients_by_condition') }}) as mart
cross join (select count(*) as occurrences from {{ ref('stg_conditions') }}) as staging
where mart.occurrences <> staging.occurrences
