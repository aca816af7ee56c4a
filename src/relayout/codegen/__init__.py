"""Code for any pair of layouts: one file for each target language, over one loop nest that knows no language."""
