package distcmd

import "github.com/spf13/cobra"

// allowDowngradeUsage describes the flag --allow-downgrade.
const allowDowngradeUsage = "take a lower version than before, and a release under the tag of another version"

// registerSigner registers the flags that accept a lower version, or another signer than the locked
// one.
func (f *flags) registerSigner(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allowDowngrade, "allow-downgrade", false, allowDowngradeUsage)
	cmd.Flags().BoolVar(&f.acceptSigner, "accept-signer", false, "take a release without a signature, or signed by another key than the locked one")
}

// configUsage describes the flag --config of the commands that apply the trust settings.
const configUsage = "`FILE` names the trusted keys, not your knack.yaml"
