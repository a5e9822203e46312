package distcmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/trust"
)

// IsSource reports whether an argument is a source with a scheme, not a skill's name or folder.
func IsSource(arg string) bool {
	return strings.Contains(arg, "://") || strings.HasPrefix(arg, "mcp:") || strings.HasPrefix(arg, "file:") || strings.HasPrefix(arg, "git@")
}

// releaseJSON is the result of verify for a source. doc/install.md describes the fields.
type releaseJSON struct {
	Command   string          `json:"command"`
	Source    string          `json:"source,omitempty"`
	Status    int             `json:"status"`
	Reason    string          `json:"reason,omitempty"`
	Fix       string          `json:"fix,omitempty"`
	Revision  string          `json:"revision,omitempty"`
	Version   string          `json:"version,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Signer    string          `json:"signer,omitempty"`
	Signers   []string        `json:"signers,omitempty"`
	Skills    []verifiedSkill `json:"skills"`
}

type verifiedSkill struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Digest string `json:"digest,omitempty"`
	Files  int    `json:"files,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// verifySource checks a source's present release, and installs nothing.
func (f *flags) verifySource(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return command.UsageError("give one source, or the names of skills", "verify takes a source alone")
	}
	in, done, err := f.open(false, false)
	if err != nil {
		return err
	}
	defer done()
	f.lock = "" // it is not about one
	r, err := in.VerifySource(cmd.Context(), args[0])
	done()
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	if err != nil {
		err = failure(err)
	}
	if f.json {
		return f.releaseJSON(r, err)
	}
	if r.Revision.ID == "" && err != nil {
		return err
	}
	f.releaseText(r)
	if err == nil && r.Faults() > 0 {
		return command.Fail(command.No, command.ErrPrinted, "")
	}
	return err
}

func (f *flags) releaseText(r install.Release) {
	out := f.env.Out()
	version := ""
	if r.Revision.Version != "" {
		version = " (" + display.Echo(r.Revision.Version) + ")"
	}
	out.Line("%s%s", console.Bold.Of(r.Source), version)
	if _, digest, ok := strings.Cut(r.Revision.ID, ":"); ok {
		out.Line("  revision   %s", digest)
	}
	switch v := r.Signature; v.State {
	case trust.Signed:
		out.Line("  signature  by %s", strings.Join(v.Signers, ", "))
	case "":
		out.Line("  signature  none: only releases in registries have one")
	default:
		out.Line("  signature  %s: it %s", v.State, v.Reason)
	}
	files, sound := 0, 0
	for _, s := range r.Skills {
		if s.Err == nil {
			sound++
			files += s.Files
		}
	}
	if sound > 0 {
		out.Line("  content    %s, %s, all as their digests say", display.Count(sound, "skill"), display.Count(files, "file"))
	}
	for _, s := range r.Skills {
		if s.Err != nil {
			f.env.Err().Text(console.Error, s.Name+" ("+s.Path+"): "+s.Err.Error())
		}
	}
}

func (f *flags) releaseJSON(r install.Release, failed error) error {
	f.printed = true
	out := releaseJSON{
		Command: "verify", Source: r.Source, Revision: r.Revision.ID, Version: r.Revision.Version,
		Signature: string(r.Signature.State), Signer: r.Signature.Signer, Signers: r.Signature.Signers, Skills: []verifiedSkill{},
	}
	for _, s := range r.Skills {
		j := verifiedSkill{Name: s.Name, Path: s.Path, Files: s.Files}
		if s.Err != nil {
			j.Reason = s.Err.Error()
			out.Status = command.No
		} else {
			j.Digest = s.Digest.String()
		}
		out.Skills = append(out.Skills, j)
	}
	if failed != nil {
		var o reportJSON
		o.fail(failed)
		out.Status, out.Reason, out.Fix = o.Status, o.Reason, o.Fix
	}
	if err := console.PrintJSON(f.env.Stdout, out); err != nil || failed != nil {
		return failed
	}
	if out.Status != 0 {
		return command.Fail(out.Status, command.ErrPrinted, "")
	}
	return nil
}
