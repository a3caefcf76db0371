"""How an operator does at scale: any operator, by its command line, beside a bare loop in the same run."""
