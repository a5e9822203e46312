package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

func showCommand(env *console.Env) *cobra.Command {
	var from selection.Flags
	var as string
	cmd := &cobra.Command{
		Use:   "show SKILL [FILE]",
		Short: "Print a skill's SKILL.md, or another of its files, byte for byte",
		Long: `Print a skill's SKILL.md, or another of its files, byte for byte.

SKILL is a name, LABEL:NAME for one that another skill shadows, a folder's name,
or a skill:// URI ('knack help names'). SOURCE//SKILL is a skill of a source, as
'knack add' takes it; nothing is installed.

With --as TOOL: exactly what that tool answers when a model calls it with this
SKILL and FILE. TOOL is a tool's name, or SET:TOOL where sets differ. The exit
status is 1 if that answer is an error or reports that there is no such skill.`,
		Example: `  knack show review
  knack show acme/skills//pdf             # before it is installed
  knack show review --as default:skill    # what a model is answered`,
		Args: command.ArgCount(1, 2, "the name of a skill and, if you like, one of its files"),
		RunE: command.Returning(env, func(cmd *cobra.Command, args []string) (command.Result, error) {
			if cmd.Flags().Changed("as") {
				return showAs(cmd.Context(), &from, as, args)
			}
			if isOutside(env, args[0], false) {
				return showOutside(cmd.Context(), env, from.Config, args)
			}
			w, err := from.Open()
			if err != nil {
				return nil, err
			}
			defer w.Close()
			v, err := w.View(cmd.Context())
			if err != nil {
				return nil, err
			}
			e, file, err := selection.Find(env, v, args[0], nil)
			if err != nil {
				return nil, err
			}
			if why, fix := doctor.HeldReason(e); why != "" {
				return nil, command.Fail(command.Error, fmt.Errorf("'%s' is held back by the operator's policy: %s", display.Echo(args[0]), why), fix)
			}
			if len(args) == 2 {
				file = args[1]
			}
			return show(e, file)
		}),
		ValidArgsFunction: from.CompleteSkill(selection.File),
	}
	from.Register(cmd, env)
	from.RegisterConfig(selection.RootsUsage)
	cmd.Flags().StringVar(&as, "as", "", "print what `TOOL` answers about the skill")
	cmd.Flags().Bool("json", false, "print a JSON object with the text, or the bytes in base64")
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(skillTools(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// shownFile is the JSON form of the result of show. Path, URI, size and digest are as for a file in
// the API; text and blob are as for a resource in MCP.
type shownFile struct {
	Name   string `json:"name"` // of the skill
	Root   string `json:"root"`
	File   string `json:"file"` // as shown to people
	Path   string `json:"path"` // in the skill
	URI    string `json:"uri,omitempty"`
	Size   int    `json:"size"`
	Digest string `json:"digest"`
	// Text is set if the file is UTF-8, and Blob if it is not. One of them is set even for an empty
	// file.
	Text *string `json:"text,omitempty"`
	Blob []byte  `json:"blob,omitempty"`
}

func shownFileOf(e *catalog.Entry, at string, data []byte) shownFile {
	out := shownFile{Name: e.Name, Root: e.Root.Label, File: skill.Join(e.Root.Name(), e.Path, e.OnDisk(at)), Path: at, Size: len(data), Digest: skill.DigestOf(data).String()}
	if uri, err := e.FileURI(at); err == nil && e.Status != catalog.Skipped {
		out.URI = uri.String()
	}
	if text := string(data); utf8.Valid(data) {
		out.Text = &text
	} else {
		out.Blob = data
	}
	return out
}

// show returns the content of a file of a skill.
func show(e *catalog.Entry, file string) (command.Result, error) {
	at, err := skill.FilePath(file)
	var data []byte
	switch {
	case err == nil && skill.Hidden(at):
		err = fs.ErrNotExist
	case err == nil && e.Fault() != nil && at == skill.MainFile:
		err = e.Fault()
	case err == nil:
		data, _, err = e.ReadServed(at, skill.MaxFile)
	}
	if err != nil {
		if errors.Is(err, skill.ErrNotRegular) {
			if info, err := fs.Stat(e.FS, at); err == nil && info.IsDir() {
				return nil, command.Fail(command.No, fmt.Errorf("%s of '%s' is a folder", display.Echo(file), e.Folder()), cmp.Or(filesHint(e, at+"/"), "it has no files"))
			}
		}
		code, hint := command.Error, settings.HintOf(err, "")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, skill.ErrOutside) || errors.Is(err, skill.ErrNotRegular) {
			code, hint = command.No, filesHint(e, "") // the skill has no such file
		}
		return nil, command.Fail(code, fmt.Errorf("cannot read %s of '%s': %s", display.Echo(file), e.Folder(), skill.Reason(err)), hint)
	}
	return command.Forms{Value: shownFileOf(e, at, data), Text: func(env *console.Env) { _ = console.PrintText(env, string(data)) }}, nil
}

// filesHint returns a hint with the skill's first files whose paths have the prefix.
func filesHint(e *catalog.Entry, prefix string) string {
	const most = 20
	files, more, err := e.List(context.Background(), skill.MaxFiles)
	if err != nil && !errors.Is(err, skill.ErrIncomplete) {
		return ""
	}
	var names []string
	for _, f := range files {
		if strings.HasPrefix(f.Path, prefix) {
			names = append(names, f.Path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	hint := "its files: " + strings.Join(names[:min(most, len(names))], ", ")
	if more || len(names) > most {
		hint += ", …"
	}
	return hint
}
