"""What machines do with layouts: one table per architecture, and the counting."""
