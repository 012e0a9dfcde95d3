"""A class's notebooks, none of them trusted: found, read, marked, and told in a gradebook, in feedback, on a page."""
