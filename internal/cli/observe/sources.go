package observe

import (
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/server/audit"
)

// Source records an event of a source in the audit log. log may be nil.
func Source(log *audit.Log, e follow.Event) {
	line := audit.Event{
		Time: e.Time, Surface: audit.Source, Method: string(e.Action), Asked: e.From, Result: audit.OK, Reason: e.Reason,
		Change: &audit.Change{Release: e.Release, From: e.Before, Version: e.Version, Signer: e.Signer, Added: e.Added, Changed: e.Changed, Removed: e.Removed},
	}
	switch e.Action {
	case follow.ActionRefuse:
		line.Result, line.Reason = audit.Refused, string(e.Refusal)+": "+e.Reason
	case follow.ActionDamage:
		line.Result = audit.Failed
	}
	log.Record(line)
}

// Drift records in the audit log that a skill differs from its lock. log may be nil.
func Drift(log *audit.Log, skill, reason string, refused bool) {
	line := audit.Event{Surface: audit.Source, Method: "drift", Asked: skill, Result: audit.OK, Reason: reason}
	if refused {
		line.Result = audit.Refused
	}
	log.Record(line)
}
