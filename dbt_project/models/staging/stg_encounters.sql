select
    id as encounter_id,
    patient as patient_id,
    organization as organization_id,
    provider as provider_id,
    payer as payer_id,
    lower(trim(encounterclass)) as encounter_class,
    start as started_at,
    stop as stopped_at,
    code as encounter_code,
    description as encounter,
    reasoncode as reason_code,
    reasondescription as reason,
    base_encounter_cost,
    total_claim_cost,
    payer_coverage
from {{ source('synthea', 'encounters') }}
