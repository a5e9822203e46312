package observe

import (
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/internal/server/event"
)

// Source records an event of a source in the audit log. log may be nil.
func Source(log *audit.Log, e follow.Event) {
	line := event.Event{
		Time: e.Time, Surface: event.Source, Method: string(e.Action), Asked: e.From, Result: event.OK, Reason: e.Reason,
		Change: &event.Change{Release: e.Release, From: e.Before, Version: e.Version, Signer: e.Signer, Added: e.Added, Changed: e.Changed, Removed: e.Removed},
	}
	switch e.Action {
	case follow.ActionRefuse:
		line.Result, line.Reason = event.Refused, string(e.Refusal)+": "+e.Reason
	case follow.ActionDamage:
		line.Result = event.Failed
	}
	log.Record(&line)
}

// Drift records in the audit log that a skill differs from its lock. log may be nil.
func Drift(log *audit.Log, skill, reason string, refused bool) {
	line := event.Event{Surface: event.Source, Method: "drift", Asked: skill, Result: event.OK, Reason: reason}
	if refused {
		line.Result = event.Refused
	}
	log.Record(&line)
}
