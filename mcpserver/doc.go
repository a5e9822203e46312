// Package mcpserver serves a catalogue and a set of tools as an MCP server.
//
// It is a layer over the official SDK. Lists, resources and instructions are
// answered from the catalogue's snapshot in a receiving middleware, so that they
// agree with each other at any size; the SDK keeps sessions, subscriptions and
// the two protocol eras. Each place where the SDK needs help names the upstream
// issue.
package mcpserver
