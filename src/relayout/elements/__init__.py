"""What stored bits mean and where they lie: element types, interfaces, memory, DLPack."""
