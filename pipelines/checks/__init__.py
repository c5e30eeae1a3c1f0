"""Asset checks: what must hold after a day was ingested. They warn; a bad file never fails the day."""
