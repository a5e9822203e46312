// Package edit changes and makes files that a person named: whole or not at all,
// and only while they still hold what was read. Every file that knack writes is
// written here. It knows nothing of what is in them.
package edit
