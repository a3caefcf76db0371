"""All that knows Slurm: its configuration language, host lists, states, reasons, formats and tokens.

No I/O, but for `rest/`, the client of slurmrestd.
"""
