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

// releaseJSON is the result of knack verify for a source. doc/api.md describes the fields.
type releaseJSON struct {
	Command string `json:"command"`
	Source  string `json:"source,omitempty"`
	command.Ending
	Revision  string          `json:"revision,omitempty"`
	Version   string          `json:"version,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Signer    string          `json:"signer,omitempty"`
	Signers   []string        `json:"signers,omitempty"`
	Skills    []verifiedSkill `json:"skills"`

	release install.Release
}

type verifiedSkill struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Digest string `json:"digest,omitempty"`
	Files  int    `json:"files,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// verifySource checks the current release of a source, and installs nothing.
func (f *flags) verifySource(cmd *cobra.Command, args []string) (command.Result, error) {
	if len(args) > 1 {
		return nil, command.UsageError("give one source, or the names of skills", "verify takes a source alone")
	}
	f.typed = args
	in, done, err := f.open(false, false)
	if err != nil {
		return nil, err
	}
	defer done()
	f.lock = "" // the command is not about a lock
	r, err := in.VerifySource(cmd.Context(), args[0])
	switch {
	case cmd.Context().Err() != nil:
		return nil, cmd.Context().Err()
	case err != nil:
		err = failure(err)
	case r.Faults() > 0:
		err = command.Fail(command.No, command.ErrPrinted, "")
	}
	return resultOf(r), err
}

// Print implements [command.Result].
func (o *releaseJSON) Print(env *console.Env) {
	r := o.release
	if r.Revision.ID == "" && o.Reason != "" {
		return
	}
	out := env.Out()
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
	case trust.Unsigned:
		out.Line("  signature  none")
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
			env.Err().Text(console.Error, s.Name+" ("+s.Path+"): "+s.Err.Error())
		}
	}
}

func resultOf(r install.Release) *releaseJSON {
	out := &releaseJSON{
		Command: "verify", Source: r.Source, Revision: r.Revision.ID, Version: r.Revision.Version,
		Signature: string(r.Signature.State), Signer: r.Signature.Signer, Signers: r.Signature.Signers, Skills: []verifiedSkill{}, release: r,
	}
	for _, s := range r.Skills {
		j := verifiedSkill{Name: s.Name, Path: s.Path, Files: s.Files}
		if s.Err != nil {
			j.Reason = s.Err.Error()
		} else {
			j.Digest = s.Digest.String()
		}
		out.Skills = append(out.Skills, j)
	}
	return out
}
