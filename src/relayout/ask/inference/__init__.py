"""Which layout is this? The parts of ``relayout.infer``: arrays, tables, lines, swizzles, dumps and guesses."""
