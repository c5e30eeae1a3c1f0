select
    patient as patient_id,
    encounter as encounter_id,
    system as code_system,
    code as procedure_code,
    description as procedure_name,
    start as started_at,
    stop as stopped_at,
    base_cost,
    reasoncode as reason_code,
    reasondescription as reason
from {{ source('synthea', 'procedures') }}
