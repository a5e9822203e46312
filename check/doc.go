// Package check judges a skill as its author wants it judged: everything that
// package skill notices when it reads a SKILL.md, and beyond that what other
// clients, other file systems and readers of the text would stumble over. It also
// knows the mends that are certain.
//
// It reads through the skill's own file system and writes nothing.
package check
