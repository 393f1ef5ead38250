"""Decoding of translation ensembles: a step against bare ones, precisions, searches against CTranslate2, full size."""
