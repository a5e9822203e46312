// Package check judges a skill for its author. It reports everything that package skill notices in
// a SKILL.md. It also reports anything that could fail in other clients, on other file systems or
// for readers of the text, and it makes fixes.
//
// The package reads through the skill's own file system and writes nothing.
package check
