"""Who holds what: meshes of devices, and tensors dealt to them."""
