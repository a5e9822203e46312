package vet

// Cache keeps reports between two runs of a server.
type Cache struct{}
