// Package check judges a skill for its author: it reports everything that package skill
// notices in a SKILL.md, and whatever could fail in other clients, on other file systems or
// for readers of the text. It also makes fixes.
//
// It reads through the skill's own file system and writes nothing.
package check
