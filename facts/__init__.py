"""Dated data about Google Cloud, and typed readers of it.

A line of code or data lives here if it would change because Google changed.
"""
