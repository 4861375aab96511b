"""Who answers: detectors, and the file that their answers stand in."""
