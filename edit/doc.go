// Package edit changes files that a person named: whole or not at all, and only
// while they still hold what was read. It knows nothing of what is in them.
package edit
