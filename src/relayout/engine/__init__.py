"""From one layout to another: planned once, exactly, then run."""
