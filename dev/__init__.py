"""The development stack: everything `make run` starts, on one machine, from the installed packages alone."""
