"""memory-tutor: a course in the short-term memory of LLM applications."""
