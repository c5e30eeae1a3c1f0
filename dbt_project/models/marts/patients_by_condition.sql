with descriptions as (
    -- A code that is described in several ways takes the most frequent.
    select
        condition_code,
        condition,
        row_number() over (partition by condition_code order by count(*) desc, condition) as place
    from {{ ref('stg_conditions') }}
    group by condition_code, condition
),

totals as (
    select
        condition_code,
        count(distinct patient_id) as patients,
        count(*) as occurrences,
        min(onset_date) as first_onset,
        max(onset_date) as last_onset
    from {{ ref('stg_conditions') }}
    group by condition_code
)

select
    totals.condition_code,
    descriptions.condition,
    totals.patients,
    totals.occurrences,
    totals.first_onset,
    totals.last_onset
from totals
inner join descriptions on totals.condition_code = descriptions.condition_code and descriptions.place = 1
order by totals.condition_code
