"""The SGHateCheck metric: `evaluate.load(sghatecheck_metric.__path__[0])`. Nothing is imported here."""
