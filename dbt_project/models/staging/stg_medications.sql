select
    patient as patient_id,
    encounter as encounter_id,
    payer as payer_id,
    code as medication_code,
    description as medication,
    start as started_at,
    stop as stopped_at,
    dispenses,
    base_cost,
    totalcost as total_cost,
    payer_coverage,
    reasoncode as reason_code,
    reasondescription as reason
from {{ source('synthea', 'medications') }}
