"""What is asked: the test cases, from the released files or from templates of one's own, to a folder that datasets can load."""
