"""What a stack consists of: the foundation, and one environment."""
