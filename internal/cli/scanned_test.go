package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// slow is a source that takes a while to find its only skill.
type slow struct{ takes time.Duration }

func (s slow) Root() skill.Root {
	return skill.Root{Label: "slow", Scope: skill.ScopeProject, Shown: "slow"}
}

func (s slow) Scan(ctx context.Context) (skill.Scan, error) {
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
	fsys := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: late\ndescription: Use when late.\n---\n")}}
	return skill.Scan{Bundles: []*skill.Bundle{{Path: "late", Entry: "SKILL.md", FS: fsys}}}, nil
}

// TestScannedWaits checks that a command that answers only once waits for its roots without a
// limit, and that doctor does too.
func TestScannedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := workspace.Read(t.Context(), &console.Env{}, catalog.New([]catalog.Source{slow{10 * time.Minute}}, catalog.Options{}))
		if err != nil || len(v.Entries) != 1 || v.Roots[0].Err != nil {
			t.Fatalf("%d skills, %v", len(v.Entries), err)
		}
		report, err := doctor.Examine(t.Context(), v, doctor.Options{Shown: func(path string) string { return path }})
		if err != nil || report.Count.Available != 1 {
			t.Errorf("%+v, %v", report.Count, err)
		}
	})
}

// TestScannedShowsProgress checks that a command shows its progress at a terminal.
func TestScannedShowsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		env := &console.Env{Stdout: io.Discard, Stderr: &said, StderrTerminal: true}
		_, end := console.Start(env)
		v, err := workspace.Read(t.Context(), env, catalog.New([]catalog.Source{slow{10 * time.Minute}}, catalog.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, done := showJudging(t.Context(), env, v)
		skill.Progress(ctx).Add(1)
		time.Sleep(time.Second) // fake time, in a bubble
		done()
		end()
		for _, want := range []string{"\rreading skills: 0 folders\r", "\rreading skills: 0 folders, 599 s; Ctrl-C ends it", "\rchecking skills: 1 of 1, 600 s"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("it does not say %q", want)
			}
		}
		if !strings.HasSuffix(said.String(), " \r") {
			t.Error("the line stays")
		}
	})
}

// TestBannerWhileReading checks that the banner of a server that is still reading says that its
// count is not final.
func TestBannerWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := catalog.New([]catalog.Source{slow{time.Minute}}, catalog.Options{Patience: time.Second})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = c.Run(ctx) }()
		for _, want := range []string{"knack serves 0 skills so far over MCP", "knack serves 1 skill over MCP"} {
			v, err := c.View(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			tools, err := tool.ParseSets(tool.DefaultSet)
			if err != nil {
				t.Fatal(err)
			}
			if banner(&console.Env{Stderr: &said, Getenv: func(string) string { return "" }}, &serveFlags{tools: tools, flags: new(pflag.FlagSet)}, v); !strings.HasPrefix(said.String(), want) {
				t.Errorf("%q, want %q", said.String(), want)
			}
			<-time.After(time.Minute)
			synctest.Wait()
		}
	})
}

// TestScannedInterrupted checks that Ctrl-C ends the wait for a root.
func TestScannedInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := workspace.Read(ctx, &console.Env{}, catalog.New([]catalog.Source{slow{time.Hour}}, catalog.Options{})); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("%v", err)
		}
	})
}
