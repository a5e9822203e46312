package main

// peers says of each other server whether it was measured.
func (b *bench) peers() []string { return nil }
