"""Renderings of results: one pure function per format, Report -> str."""
