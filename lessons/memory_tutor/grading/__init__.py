"""Many notebooks of others: each is run where it can do no harm, and marked from outside."""
