package observe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestReloads checks the metrics and the audit lines of reloads. A refused reload must keep the
// time of the configuration in effect, and log the reason.
func TestReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		log := audit.OnWriter(&lines, audit.Options{})
		r := NewReloads(log, true)
		begun := time.Now().Unix()
		expect := func(when, want string) {
			t.Helper()
			var got []string
			for _, m := range r.measures() {
				for _, s := range m.Samples {
					value := s.Value
					if m.Name == "knack_reload_timestamp_seconds" {
						value -= float64(begun)
					}
					got = append(got, fmt.Sprint(s.Labels[1], " ", value))
				}
			}
			if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s: -want +got\n%s", when, diff)
			}
		}
		expect("at the start", "audit-log 1, certificate 1, settings 1, audit-log 0, certificate 0, settings 0")
		testwait.Advance(time.Minute)
		r.Done(Settings, nil, false)
		r.Done(AuditLog, nil, true)
		r.Done(Certificate, errors.New("no key"), true)
		expect("after a minute", "audit-log 1, certificate 0, settings 1, audit-log 60, certificate 0, settings 60")
		testwait.Advance(time.Minute)
		r.Done(Settings, errors.New("/etc/knack.yaml:4:8: there is no key 'knack_vCTTJwbQirNibyneBKwD_MV0Cpe69Gpzjc…' in access.tokens[0]"), false)
		r.Done(Certificate, nil, false)
		expect("after two", "audit-log 1, certificate 1, settings 0, audit-log 60, certificate 120, settings 60")
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		want := `{"time":"2000-01-01T00:01:00Z","surface":"server","method":"reload","asked":"settings","result":"ok"}
{"time":"2000-01-01T00:01:00Z","surface":"server","method":"reload","asked":"certificate","result":"refused","reason":"no key"}
{"time":"2000-01-01T00:02:00Z","surface":"server","method":"reload","asked":"settings","result":"refused","reason":"/etc/knack.yaml:4:8: there is no key [redacted] in access.tokens[0]"}
{"time":"2000-01-01T00:02:00Z","surface":"server","method":"reload","asked":"certificate","result":"ok"}
`
		if diff := cmp.Diff(want, lines.String()); diff != "" {
			t.Errorf("the audit log: -want +got\n%s", diff)
		}
	})
	none := NewReloads(nil, false)
	none.Done(Certificate, nil, false)
	if all := none.measures(); len(all[0].Samples) != 1 || all[0].Samples[0].Labels[1] != Settings {
		t.Errorf("without TLS and audit log: %v", all)
	}
}
