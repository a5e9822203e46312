package settings

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/policy/approvals"
)

// Approvals returns the path of the file of approvals. The file of --config or the user's own file
// names this path. By default, the file of approvals is beside the user's file. The result is "" if
// the system has no place for the user's file.
func (s *Finder) Approvals() (string, error) {
	f, err := s.Trusted()
	switch user := s.UserFile(); {
	case err != nil:
		return "", err
	case f != nil:
		return f.approvals(), nil
	case user != "":
		return filepath.Join(filepath.Dir(user), approvals.Name), nil
	}
	return "", nil
}

// approvals returns the path of the file of approvals that a trusted file names.
func (f *File) approvals() string {
	return f.Resolve(cmp.Or(f.Config.Approvals.Text, approvals.Name))
}

// UnusableApprovals returns a warning if the file of approvals cannot be read. Such a file approves
// nothing.
func (f *File) UnusableApprovals() []string {
	_, err := approvals.Load(f.approvals())
	if err == nil {
		return nil
	}
	quoted := display.Echo(cmp.Or(f.Config.Approvals.Text, approvals.Name))
	if bad := (*jsonfile.Error)(nil); errors.As(err, &bad) {
		return []string{fmt.Sprintf("approvals: %s:%d:%d: %s, so that nothing is approved: %s", quoted, bad.Line, bad.Column, bad.Message, bad.Fix)}
	}
	return []string{"approvals: " + quoted + " cannot be read, so that nothing is approved: " + HintOf(err, "make it a text file that knack can read")}
}
