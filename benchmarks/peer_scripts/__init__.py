"""Other engines' answers, each written for an environment of its own: nothing here is imported."""
