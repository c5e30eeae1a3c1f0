select
    patient as patient_id,
    encounter as encounter_id,
    system as code_system,
    code as condition_code,
    description as condition,
    start as onset_date,
    stop as resolved_date
from {{ source('synthea', 'conditions') }}
