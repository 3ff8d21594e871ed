"""The blueprint language: what a person may write, and what it means."""
