// Package check judges a skill for its author. It reports the problems that package skill finds in
// a SKILL.md. It also reports anything that could fail in other clients, on other file systems or
// for readers of the text. It can fix some of the problems.
//
// The package reads through the skill's own file system and writes nothing.
package check
