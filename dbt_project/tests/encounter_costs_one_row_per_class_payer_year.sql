{{ config(meta={'dagster': {'ref': {'name': 'encounter_costs'}}}) }}
select encounter_class, payer, year, count(*) as times
from {{ ref('encounter_costs') }}
group by encounter_class, payer, year
having count(*) > 1
