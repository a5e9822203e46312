package distcmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// allowDowngradeUsage describes the flag --allow-downgrade.
const allowDowngradeUsage = "take a lower version than before, and a release under the tag of another version"

// registerSigner adds the flags that accept other content than the locked one.
func (f *flags) registerSigner(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allowDowngrade, "allow-downgrade", false, allowDowngradeUsage)
	cmd.Flags().BoolVar(&f.acceptSigner, "accept-signer", false, "take what another than the locked signer signed, or what is no longer signed")
}

// configUsage describes the flag --config of the commands that obey trust.
const configUsage = "the trusted keys are those of `FILE`, not of your knack.yaml (doc/configuration.md)"

// rulesOf returns the rules of the file of --config, or of the user's own file. A fault anywhere
// in the file refuses all of it: a part may be less strict than the whole.
func rulesOf(env *console.Env, config string) (*trust.Policy, error) {
	rules, err := settings.New(env, config).Trust()
	return rules, fileFailure(err)
}

// fileFailure returns an error of the settings as one of the command.
func fileFailure(err error) error {
	var bad *settings.Error
	switch {
	case errors.As(err, &bad) && bad.Usage:
		return command.Fail(command.Usage, bad.Err, bad.Hint)
	case bad != nil:
		return command.Fail(command.Error, bad.Err, bad.Hint)
	}
	return err
}
