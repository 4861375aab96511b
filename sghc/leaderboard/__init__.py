"""Where answers meet the suite: predictions checked, scored, shown and held against a minimum."""
