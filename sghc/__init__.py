"""SGHateCheck: functional tests for hate-speech detectors in the languages of Singapore."""

__version__ = "0.1.0"
