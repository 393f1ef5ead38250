"""The log-linear baseline against scikit-learn's, and its handling of classes that never occur."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from studies.weather_real import loglinear


def simulated() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(600, 3))
    scores = inputs @ np.array([[1.0, 0.0, -1.0], [0.5, -0.5, 0.0], [0.0, 2.0, 0.0]]) + rng.gumbel(size=(600, 3))
    return inputs, np.array([5, 6, 8])[scores.argmax(axis=1)]


def test_it_is_the_penalised_maximum_likelihood() -> None:
    inputs, labels = simulated()
    probabilities = loglinear.fit(inputs, labels, 9, penalty=0.01).predict(inputs)
    library = LogisticRegression(C=1 / (2 * 0.01 * len(labels)), tol=1e-8, max_iter=1000).fit(inputs, labels)
    np.testing.assert_allclose(probabilities[:, [5, 6, 8]], library.predict_proba(inputs), atol=2e-4)


def test_classes_that_never_occurred_have_no_probability() -> None:
    inputs, labels = simulated()
    probabilities = loglinear.fit(inputs, labels, 9).predict(inputs)
    assert probabilities.shape == (600, 9)
    assert (probabilities[:, [0, 1, 2, 3, 4, 7]] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
