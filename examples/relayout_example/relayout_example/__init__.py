"""What a package adds to relayout, one file each."""
