"""Sentences, tokens and vocabularies of the translation task."""
