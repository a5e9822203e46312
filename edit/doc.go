// Package edit changes and creates files that the user named: whole or not at all, and only
// if they still hold what was read. Every file that knack writes is written here. The
// package knows nothing about their content.
package edit
