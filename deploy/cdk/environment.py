"""What the programs on AWS are told: names of settings and their values."""

START_TIMEOUT_S = 300
"""As `run_monitoring.start_timeout_seconds` in deploy/dagster/aws: how long an ECS task may take to begin its run."""
