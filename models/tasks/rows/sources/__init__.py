"""Trained models as people bring them: files of several frameworks, brought to one form."""
