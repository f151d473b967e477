"""Speed, scale and lateness, measured as ratios against a reference in the same run."""
