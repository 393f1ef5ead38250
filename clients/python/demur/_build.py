"""``demur.build``, which is part of the distribution ``demur``."""

from typing import Any

from demur._extensions import extension


def build(model: Any, X: Any, y: Any, *, name: str, **options: Any) -> Any:
    """Build, verify and store an artefact of a trained model in memory; ``demur serve rows --model NAME`` serves it.

    >>> import demur
    >>> built = demur.build(model, X, y, name="churn")  # doctest: +SKIP
    >>> print(built)  # doctest: +SKIP

    ``help(services.app.python_build.build)`` describes all options.

    Args:
        model: fitted model of scikit-learn, LightGBM, XGBoost, CatBoost, PyTorch or MAPIE; a list of them as members of
            an ensemble; or a mapping from target to one of both.
        X: rows that the model was not trained on, as the model takes them: a data frame of pandas or polars, a mapping
            of columns, or an array [n, F].
        y: labels of the rows, [n] or [n, T].
        name: name that the model is served under.
        options: such as ``retention``, ``risk``, ``uncertainty``, ``shifted``, ``groups``, ``training``, ``schema``.

    Raises:
        ImportError: the distribution ``demur`` is not installed, or what a build needs is missing; the message says
            what to install.
        ValueError: the model, the data or an option cannot be used; the message says which, and what to do.
    """
    return extension("build", "demur[build]").build(model, X, y, name=name, **options)
