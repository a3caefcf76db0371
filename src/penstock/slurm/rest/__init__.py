"""slurmrestd's client: few questions, small answers.

A full job list of 10,000 jobs costs slurmrestd 2.9 GB, a full node list megabytes; so nodes are asked for with the time
of the last answer, jobs by state or one by one, and writes go to many nodes at once by host list.
"""
