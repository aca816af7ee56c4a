"""Audits: what moves in the files that compilers and runtimes write, what it costs, and what is undone later."""
