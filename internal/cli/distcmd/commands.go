package distcmd

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
)

func addCommand(env *console.Env, around Surroundings) *cobra.Command {
	f := flags{env: env, around: around}
	var clients []string
	var asCopy bool
	var q install.Request
	var from string
	cmd := &cobra.Command{
		Use:   "add SOURCE... | --from LOCK",
		Short: "Install skills from elsewhere, and record them in knack.lock",
		Long: `Copy skills from a source into ` + agents.SkillsFolder + ` at the root of the project's
repository, and record in knack.lock what they are, file by file. Agents that
read that folder, and knack serve, then offer them.

A source is one of
  OWNER/REPO[/FOLDER][@REF]         a repository at GitHub
  HOST/PATH[//FOLDER][@REF]         another git server; also git@HOST:PATH,
                                    ssh://…, https://….git, git+file:///PATH
  ./FOLDER, ./FILE.zip              a folder or an archive on this machine
  https://…/FILE.zip                an archive: .zip, .skill, .tar.gz, .tgz
  https://HOST                      a site that offers skills
  oci://REGISTRY/REPO[:TAG]         a registry
  npm:NAME[@VERSION]                a package, as npm is configured
  mcp:https://HOST/mcp              a server with the Skills extension; it gets
                                    the token in KNACK_TOKEN

knack update follows a REF that is a branch, moves a full version, such as
v1.2.3, within 1.x (v0.2.3 within 0.2.x), and leaves a commit. --pin keeps any.

If a source lists plugins, --skill PLUGIN:SKILL chooses, also if the plugin is
elsewhere: knack list SOURCE shows them.

If a source has several skills, --skill or --all says which. A skill that was
changed by hand is left as it is.

A client that reads other folders gets the skill through knack connect, or with
--client as a link in its own folder, which sync, update, verify and remove
treat as a part of the skill. Such a client reads the folder itself: the lock,
the scan and the rules of knack serve do not bind it.

What is new is scanned, as knack scan does. A finding to enforce stops the
command before anything is written, unless --allow names its rule. To look at a
skill before: knack show SOURCE//SKILL, knack scan SOURCE.

With --from, skills that another installer has installed are recorded: each is
fetched from its source and compared with the disk. LOCK is its lock
(skills-lock.json, .skill-lock.json, skills.lock.json or toolhive.lock.yaml), or
gh for skills that gh skill installed.`,
		Example: `  knack add acme/skills --skill pdf
  knack add acme/skills --all --dry-run   # what would be done
  knack add acme/skills --skill pdf --client claude-code
  knack add --from skills-lock.json       # what npx skills has installed`,
		Args: func(cmd *cobra.Command, args []string) error {
			if from != "" {
				return command.ArgCount(0, 0, "no source with --from")(cmd, args)
			}
			return command.ArgCount(1, 1000, "at least one source")(cmd, args)
		},
	}
	f.register(cmd, true, func(cmd *cobra.Command, args []string) (command.Result, error) {
		q.Sources, f.typed = args, args
		if err := f.checkAllowed(); err != nil {
			return nil, err
		}
		if err := f.setClients(clients, asCopy); err != nil {
			return nil, err
		}
		if from != "" && (q.All || q.Pin || len(q.Skills) > 0) {
			return nil, command.UsageError("leave them out", "--from is not used with --skill, --all or --pin")
		}
		if from != "" {
			return f.run(cmd, true, true, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
				return f.planFrom(ctx, in, from)
			})
		}
		if q.All && len(q.Skills) > 0 {
			return nil, command.UsageError("leave one of them out", "--all is not used with --skill")
		}
		if slices.Contains(q.Skills, "*") {
			return nil, command.UsageError("--all installs all skills of the source", "--skill '*' is the name of no skill")
		}
		return f.run(cmd, true, true, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
			p, err := in.PlanAdd(ctx, q)
			f.noteNamed(ctx, p, q.Sources)
			return p, err
		})
	})
	f.registerSigner(cmd)
	f.registerScan(cmd)
	cmd.Flags().Var((*command.Repeated)(&q.Skills), "skill", "install the skill `NAME`, or the one in this folder of the source")
	cmd.Flags().BoolVar(&q.All, "all", false, "install all skills of the sources")
	cmd.Flags().StringVar(&f.to, "to", "", "install into the folder `DIR`")
	cmd.Flags().BoolVar(&q.Pin, "pin", false, "let update leave these skills as they are")
	cmd.Flags().StringVar(&from, "from", "", "take over the skills of another installer's `LOCK`, or of gh")
	cmd.Flags().Var((*command.Repeated)(&clients), "client", "put a link into the folder of the client `NAME` too")
	cmd.Flags().BoolVar(&asCopy, "copy", false, "with --client, put a copy there in place of a link")
	_ = cmd.MarkFlagDirname("to")
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(clientIDs(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// noteNamed adds a note to the plan for each source that is the name of a skill on this machine.
func (f *flags) noteNamed(ctx context.Context, p *install.Plan, sources []string) {
	for _, name := range sources {
		if p == nil || f.around.Named == nil || !skill.ValidName(name) {
			continue
		}
		if at := f.around.Named(ctx, f.env, f.project, name); at != "" {
			p.Notes = append(p.Notes, "a skill "+name+" is on this machine: "+at)
		}
	}
}

func removeCommand(env *console.Env) *cobra.Command {
	f := flags{env: env}
	cmd := &cobra.Command{
		Use:   "remove SKILL...",
		Short: "Remove installed skills and their entries in knack.lock",
		Long: `Remove the folders of installed skills, and their entries in knack.lock. A skill
that was changed by hand, or that knack did not install, stays. If a name is
installed in several places, the command asks, or says how to name one.`,
		Example: `  knack remove pdf --dry-run   # what would be removed
  knack remove pdf`,
		Args: command.ArgCount(1, 1000, "the names of installed skills"),
	}
	cmd.ValidArgsFunction = f.completeInstalled
	f.register(cmd, true, func(cmd *cobra.Command, args []string) (command.Result, error) {
		args, err := f.which(cmd.Context(), args, env.StdinTerminal && env.StderrTerminal && !command.IsJSON(cmd))
		if err != nil {
			return nil, failure(err)
		}
		return f.run(cmd, true, false, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
			return in.PlanRemove(ctx, args), nil
		})
	})
	return cmd
}

func syncCommand(env *console.Env, around Surroundings) *cobra.Command {
	f := flags{env: env, around: around}
	cmd := &cobra.Command{
		Use:   "sync [SKILL...]",
		Short: "Make the folders of installed skills what knack.lock says",
		Long: `Write the folders of locked skills that are missing, from the store or from
their sources. Only files with the locked digests are accepted. The lock is not
changed. A skill that was changed by hand stays, unless --overwrite is given.
With SKILL, write only these.`,
		Example: `  knack sync            # after a clone without the skills
  knack sync --offline  # only from the store`,
		Args: command.ArgCount(0, 1000, "the names of installed skills, or none for all"),
	}
	cmd.ValidArgsFunction = f.completeInstalled
	f.register(cmd, true, func(cmd *cobra.Command, args []string) (command.Result, error) {
		return f.run(cmd, true, false, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
			if err := f.noLock(in); err != nil {
				return nil, err
			}
			return in.PlanSync(ctx, args), nil
		})
	})
	return cmd
}

func updateCommand(env *console.Env, around Surroundings) *cobra.Command {
	f := flags{env: env, around: around}
	var q install.UpdateRequest
	cmd := &cobra.Command{
		Use:   "update [SKILL...]",
		Short: "Update installed skills from their sources",
		Long: `Ask the sources of installed skills what they have now, and install what
changed. A branch is followed. A full version, such as v1.2.3, moves to the
highest of its major version (of 0.x: its minor version). A commit, a digest and
a skill that was added with --pin stay.

Skills that were changed by hand are left as they are. No skill is added, and
none is taken from another source.`,
		Example: `  knack update
  knack update --check    # the status is 1 if there are updates
  knack update --latest   # to the next major version too`,
		Args: command.ArgCount(0, 1000, "the names of installed skills, or none for all"),
	}
	cmd.ValidArgsFunction = f.completeInstalled
	f.register(cmd, true, func(cmd *cobra.Command, args []string) (command.Result, error) {
		q.Skills = args
		if err := f.checkAllowed(); err != nil {
			return nil, err
		}
		return f.run(cmd, !q.Check, false, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
			if err := f.noLock(in); err != nil {
				return nil, err
			}
			return in.PlanUpdate(ctx, q), nil
		})
	})
	f.registerSigner(cmd)
	f.registerScan(cmd)
	cmd.Flags().BoolVar(&q.Check, "check", false, "only say what would be updated")
	cmd.Flags().BoolVar(&q.Latest, "latest", false, "let a version move to the next major version")
	cmd.Flags().BoolVar(&q.Unpin, "unpin", false, "update pinned skills too, and pin them no more")
	return cmd
}

func verifyCommand(env *console.Env, around Surroundings) *cobra.Command {
	f := flags{env: env, around: around, ownLock: true}
	cmd := &cobra.Command{
		Use:   "verify [SKILL... | SOURCE]",
		Short: "Compare installed skills with knack.lock, or check a release",
		Long: `Compare the folders of installed skills with knack.lock, byte for byte. Nothing
is written and no source is asked, with --offline or without, so it is for CI.
The status is 1 if something differs. A skill beside the locked ones that is not
in knack.lock is named.

With a source, such as oci://REGISTRY/REPO:TAG, check its signature by the rules
of trust in your knack.yaml, and the digests of all that it has. Nothing is
installed. The status is 1 if it would not be taken.`,
		Example: `  knack verify
  knack verify --json
  knack verify oci://ghcr.io/acme/skills:v1.2.0   # who signed it`,
		Args: command.ArgCount(0, 1000, "the names of installed skills, or none for all, or one source"),
	}
	cmd.ValidArgsFunction = f.completeInstalled
	f.register(cmd, false, func(cmd *cobra.Command, args []string) (command.Result, error) {
		if slices.ContainsFunc(args, origin.HasScheme) {
			return f.verifySource(cmd, args)
		}
		return f.run(cmd, false, false, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
			if err := f.noLock(in); err != nil {
				return nil, err
			}
			p := in.PlanVerify(ctx, args, f.judge(ctx))
			if len(args) == 0 && f.around.Unlocked != nil {
				fixes, err := f.around.Unlocked(ctx, f.env, f.project, f.config, filepath.Dir(in.LockFile()))
				if err != nil && (f.strict || ctx.Err() != nil) {
					return nil, err
				}
				if p.NoteUnlocked(fixes); err != nil {
					p.Notes = append(p.Notes, err.Error())
				}
			}
			return p, nil
		})
	})
	cmd.Flags().BoolVar(&f.strict, "strict", false, "the status is 1 also if a skill beside the locked ones is not in knack.lock")
	return cmd
}
