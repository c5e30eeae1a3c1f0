-- Names, addresses and identity numbers stay out: no mart needs them.
select
    id as patient_id,
    birthdate as birth_date,
    deathdate as death_date,
    gender,
    race,
    ethnicity,
    marital as marital_status,
    city,
    county,
    state
from {{ source('synthea', 'patients') }}
