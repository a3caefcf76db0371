"""What holds for all tests."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell has what runs in its background ignore ^C, and so does all that this starts in turn.
    signal.signal(signal.SIGINT, signal.default_int_handler)
