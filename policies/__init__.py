"""Verdicts on plans."""
