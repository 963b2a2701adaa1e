"""Typed view of compat_matrix.yaml: answers questions with supported, deprecated, unsupported or unknown, and the row that says so."""
