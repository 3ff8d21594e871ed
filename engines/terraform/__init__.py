"""Terraform and OpenTofu: the JSON writer, the engines, the runner, and the offline stand-in cloud."""
