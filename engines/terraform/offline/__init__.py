"""The stand-in for the providers google and google-beta: a small server that Terraform plans and applies against."""
