"""Fills as published, for study: stages from the host, and cells when they are ready."""
