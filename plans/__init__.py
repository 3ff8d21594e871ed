"""Terraform's plan format: the plan model, redaction, the summary."""
