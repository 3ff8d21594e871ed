"""groundplan: one YAML blueprint becomes isolated Google Cloud environments for machine learning."""

__version__ = "0.1.0"
