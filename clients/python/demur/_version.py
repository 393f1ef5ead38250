"""Version of the distribution; the package metadata and the user agent read it here."""

VERSION = "0.2.0"
