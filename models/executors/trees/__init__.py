"""CatBoost models as members: the library's own evaluator, and compact tables that compute the same faster."""
