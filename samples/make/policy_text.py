"""Text of the sample policy: (kind, text) in order; kinds are h1, h2, text, bullet, table (its caption)."""

from __future__ import annotations

TITLE = "Referral and prior authorization policy"
SUBTITLE = (
    "Northgate Community Clinic. Policy number UM-014, version 3.2. Effective from March 1, 2026. Owner: Utilization "
    "Management Committee. Northgate Community Clinic is a fictional clinic; this policy is sample data and is not "
    "medical advice."
)

LIMITS = [
    ["Service", "Prior authorization", "Standard decision", "Urgent decision", "Authorization valid for"],
    ["Magnetic resonance imaging (MRI)", "Required", "5 business days", "24 hours", "60 days"],
    ["Computed tomography (CT)", "Required", "3 business days", "24 hours", "60 days"],
    ["Sleep study (polysomnography)", "Required", "7 business days", "Not available", "90 days"],
    ["Physical therapy", "After 12 visits", "5 business days", "48 hours", "120 days"],
    ["Bariatric surgery", "Required", "15 business days", "Not available", "180 days"],
    ["Home oxygen therapy", "Required", "2 business days", "8 hours", "365 days"],
    ["Elective joint replacement", "Required", "10 business days", "Not available", "120 days"],
    ["Mammography (screening)", "Not required", "Not applicable", "Not applicable", "Not applicable"],
    ["Colonoscopy (screening)", "Not required", "Not applicable", "Not applicable", "Not applicable"],
]

POLICY: list[tuple[str, str]] = [
    ("h1", "1. Purpose and scope"),
    (
        "text",
        "This policy states when a patient of the clinic needs a referral to a specialist, which services need prior "
        "authorization (PA) before they are provided, and how quickly a request is decided. It applies to all "
        "clinicians and to the utilization management (UM) staff of the clinic. It does not apply to dental services.",
    ),
    (
        "text",
        "Emergency services never need a referral or prior authorization. A patient with chest pain, signs of stroke, "
        "severe shortness of breath or anaphylaxis is sent to the nearest emergency department at once.",
    ),
    ("h1", "2. Definitions"),
    ("bullet", "Prior authorization (PA): approval of a service by the UM staff before the service is provided."),
    ("bullet", "Referral: a written request of a primary care provider (PCP) that a specialist sees a patient."),
    (
        "bullet",
        "Urgent request: a request where waiting for the standard decision could seriously harm the patient's life, "
        "health or ability to regain function.",
    ),
    (
        "bullet",
        "Chronic kidney disease (CKD): kidney damage, or an estimated glomerular filtration rate (eGFR) below "
        "60 mL/min/1.73 m², for 3 months or longer.",
    ),
    (
        "bullet",
        "Chronic obstructive pulmonary disease (COPD): persistent airflow limitation, confirmed by spirometry with a "
        "ratio of FEV1 to FVC below 0.70 after a bronchodilator.",
    ),
    (
        "bullet",
        "Type 2 diabetes mellitus (T2DM): diabetes with a hemoglobin A1c (HbA1c) of 6.5% or higher at diagnosis.",
    ),
    ("bullet", "Obstructive sleep apnea (OSA): repeated collapse of the upper airway during sleep."),
    ("h1", "3. Referrals"),
    ("h2", "3.1 Who may refer"),
    (
        "text",
        "A PCP of the clinic writes the referral. A nurse practitioner or a physician assistant may write it too. No "
        "referral is needed for obstetrics and gynecology, for behavioral health, and for one eye examination a year "
        "for patients with diabetes.",
    ),
    ("h2", "3.2 How long a referral is valid"),
    (
        "text",
        "A referral is valid for 180 days from the day on which it is written and covers up to 6 visits. A specialist "
        "who needs more visits asks the PCP for a new referral.",
    ),
    ("h2", "3.3 How soon the patient is seen"),
    (
        "text",
        "The referral coordinator contacts the patient within 2 business days. An urgent referral is scheduled within "
        "3 calendar days, a routine referral within 28 calendar days. If no appointment can be found in that time, the "
        "coordinator offers a specialist outside the network at no additional cost to the patient.",
    ),
    ("h1", "4. Prior authorization"),
    ("h2", "4.1 How to request it"),
    (
        "text",
        "The clinician sends form PA-7 with the diagnosis, the service code and the notes of the last visit. The UM "
        "staff confirm that a request has arrived within 1 business day. When information is missing, they ask for it "
        "once, and the time limit stops for at most 14 calendar days.",
    ),
    ("h2", "4.2 Time limits"),
    ("table", "Table 1. Time limits for decisions, by service"),
    (
        "text",
        "If no decision is made within the time limit, the request counts as approved. Time limits start on the day on "
        "which the complete request arrives.",
    ),
    ("h2", "4.3 Who decides"),
    (
        "text",
        "A UM nurse may approve a request. Only a physician may deny one. The person who decides must have no "
        "financial interest in the decision.",
    ),
    ("h1", "5. Clinical criteria for referral"),
    ("h2", "5.1 Chronic kidney disease"),
    (
        "text",
        "A patient with CKD is referred to nephrology when the eGFR is below 30 mL/min/1.73 m², when the urine "
        "albumin-to-creatinine ratio is 300 mg/g or higher, or when the eGFR falls by more than 5 mL/min/1.73 m² "
        "within 12 months. Diabetes mellitus and hypertension are the most common causes of CKD. Lisinopril slows the "
        "progression of CKD in patients with albuminuria. Nonsteroidal anti-inflammatory drugs (NSAIDs) such as "
        "ibuprofen are avoided in CKD.",
    ),
    ("h2", "5.2 Chronic obstructive pulmonary disease"),
    (
        "text",
        "A patient with COPD is referred to pulmonology after 2 or more exacerbations within 12 months, or when the "
        "FEV1 is below 50% of the predicted value. Tiotropium is used as maintenance treatment of COPD. Home oxygen "
        "therapy is requested when the oxygen saturation at rest is 88% or lower.",
    ),
    ("h2", "5.3 Type 2 diabetes mellitus"),
    (
        "text",
        "A patient with T2DM is referred to endocrinology when the HbA1c stays above 9.0% for 6 months in spite of two "
        "medicines. Metformin is the first medicine for T2DM unless the eGFR is below 30 mL/min/1.73 m². Diabetic "
        "retinopathy is a complication of T2DM; every patient with T2DM has an eye examination once a year.",
    ),
    ("h2", "5.4 Hypertension"),
    (
        "text",
        "A patient with hypertension is referred to cardiology when the blood pressure stays at 140/90 mmHg or higher "
        "with three medicines at full dose, one of them a diuretic such as hydrochlorothiazide.",
    ),
    ("h2", "5.5 Obstructive sleep apnea"),
    (
        "text",
        "A sleep study is requested when the STOP-Bang score is 3 or higher. Continuous positive airway pressure "
        "(CPAP) treats OSA. Obesity is a risk factor for OSA.",
    ),
    ("h1", "6. Denials and appeals"),
    (
        "text",
        "A denial states the clinical reason and the criterion that was not met. The clinician may ask for a "
        "peer-to-peer conversation within 5 business days. The patient or the clinician may appeal within 60 calendar "
        "days of the denial. An appeal is decided within 30 calendar days, an urgent appeal within 72 hours, by a "
        "physician who had no part in the first decision. If the appeal is denied, the patient may ask for an external "
        "review within 4 months.",
    ),
    ("h1", "7. Records and review"),
    (
        "text",
        "Requests and decisions are kept for 10 years. The Utilization Management Committee audits 30 randomly chosen "
        "decisions each quarter; the goal is that at least 95% of them meet the time limits of Table 1. This policy is "
        "reviewed once a year; the next review is due on March 1, 2027.",
    ),
]
