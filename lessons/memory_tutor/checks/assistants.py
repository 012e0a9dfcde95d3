def keeps_apart(learner): pass
sends_a_window = survives_failure = remembers_goal = shares_with_workers = keeps_apart
