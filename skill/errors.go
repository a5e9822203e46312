package skill

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/base/realpath"
)

// Reasons why a file could not be read. Sources return them wrapped. Other failures are
// [io/fs.ErrNotExist], [io/fs.ErrPermission] or an error of the system.
var (
	// ErrOutside reports a name that leads out of the skill's folder, perhaps through a link.
	ErrOutside = errors.New("leads outside the skill's folder")
	// ErrNotRegular reports a directory, a pipe, a socket or a device where a file is expected.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge reports a file with more bytes than the limit for its kind.
	ErrTooLarge = errors.New("too large")
	// ErrNotUTF8 reports bytes that are not valid UTF-8 where text is required.
	ErrNotUTF8 = errors.New("not valid UTF-8")
	// ErrUnstable reports a file that changed during each attempt to read it.
	ErrUnstable = errors.New("changes while it is read")
	// ErrSilent reports a disk that did not answer in time.
	ErrSilent = realpath.ErrSilent
	// ErrNotFolder reports a file where a folder is expected.
	ErrNotFolder = errors.New("it is a file, not a folder")
	// ErrLeavesProject reports a folder that a project's file names, if a link on the path to it
	// leads out of the project.
	ErrLeavesProject = errors.New("a link leads out of the project")
	// ErrBusy is returned if too many reads of one disk are still waiting.
	ErrBusy = limit.ErrBusy
	// ErrNoRoom is returned if the answers in progress use all memory.
	ErrNoRoom = limit.ErrNoRoom
	// ErrIncomplete is returned if a list of the skill's files would lack some. A folder cannot be
	// read or is deeper than [MaxDepth] levels, or no URI can contain a file's path.
	ErrIncomplete = errors.New("a folder cannot be read or is more than 12 levels deep, or a file has a name that no URI can carry, so files would be missing")
)

// LockError reports that the lock of a skill's folder forbids serving the skill or one of its
// files. Its texts contain no path of the machine if clients on other machines may read them.
type LockError struct {
	Changed      bool // the lock contains the skill with other content
	Message, Fix string
}

// Error returns the message.
func (e *LockError) Error() string { return e.Message }

// Refusal returns the [LockError] or [HeldError] in err, or nil. If the result is not nil, the
// skill must not be served. Even a text that was read earlier must not be.
func Refusal(err error) error {
	if locked, ok := errors.AsType[*LockError](err); ok {
		return locked
	}
	if reason, ok := errors.AsType[*HeldError](err); ok {
		return reason
	}
	return nil
}

// IsWithheld reports whether a lock, the store or the operator's policy forbids serving a skill, given
// the error of its SKILL.md.
func IsWithheld(err error) bool {
	rule, _, _ := held(err)
	return rule != ""
}

// StoreError reports that a skill from a remote source, or one of its files, cannot be served. Its
// texts contain no path of the machine.
type StoreError struct {
	Damaged      bool // the stored copy has changed; if not set, the skill could not be fetched
	Message, Fix string
}

// Error returns the message.
func (e *StoreError) Error() string { return e.Message }

// HeldError reports that the operator's policy forbids serving a skill or one of its files. Its
// texts are for the operator. Models and clients only get [Held], because a finding quotes the
// skill.
type HeldError struct {
	Pending bool // not judged yet
	// Name is the skill's name as read. It may be known although the skill is not served.
	Name         string
	Message, Fix string
}

// Error returns the text for clients.
func (e *HeldError) Error() string {
	if e.Pending {
		return heldPending
	}
	return Held
}

// Texts for clients about a held-back skill.
const (
	Held        = "held back by the operator's policy"
	heldPending = Held + " until it is judged; ask again in a moment"
)

// Reason describes a read error to people and models, without a path of the machine.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, s := range []error{ErrOutside, ErrNotRegular, ErrTooLarge, ErrNotUTF8, ErrUnstable, ErrSilent, ErrLeavesProject, ErrBusy, ErrNoRoom, ErrIncomplete} {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	if locked, ok := errors.AsType[*LockError](err); ok {
		return locked.Message
	}
	if stored, ok := errors.AsType[*StoreError](err); ok {
		return stored.Message
	}
	if reason, ok := errors.AsType[*HeldError](err); ok {
		return reason.Error()
	}
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.ELOOP):
		return "link loop"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "cannot be read"
}

// UnreachableError reports that a root has no skills, because its remote source cannot be reached
// or has no acceptable release. Its texts contain no location and no address.
type UnreachableError struct {
	Since time.Time
	Cause Lack
}

// Lack is the reason why a remote source has no skills here.
type Lack string

// The causes.
const (
	LackAnswer  Lack = ""        // the source does not answer
	LackRelease Lack = "release" // the source answers, but its release is refused
	LackLogin   Lack = "login"   // the source refuses access, or the credentials
	LackTime    Lack = "time"    // its release is being fetched for the first time
)

// Error describes the state of the source, with the time at which the state began.
func (e *UnreachableError) Error() string {
	state := "unreachable since "
	switch e.Cause {
	case LackRelease:
		state = "its release is refused since "
	case LackLogin:
		return "it refuses access since " + e.Since.UTC().Format(time.DateTime) + " UTC: set or renew token-env or token-file of this source in knack.yaml"
	case LackTime:
		state = "being fetched for the first time since "
	}
	return state + e.Since.UTC().Format(time.DateTime) + " UTC"
}

// FolderReason returns the reason that a folder of skills cannot be read, or that a skill is held
// back, and the fix.
func FolderReason(err error) (reason, fix string) {
	if rule, reason, fix := held(err); rule != "" {
		return reason, fix
	}
	if gone, ok := errors.AsType[*UnreachableError](err); ok {
		return gone.Error(), "its skills follow once its source has a release; the server's log says why it has none"
	}
	switch {
	case errors.Is(err, ErrNotFolder):
		return ErrNotFolder.Error(), "give a folder"
	case errors.Is(err, ErrLeavesProject):
		return ErrLeavesProject.Error(), "name a folder of the project itself"
	case errors.Is(err, ErrSilent):
		return ErrSilent.Error(), "see whether the disk answers"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such folder", "check the path, or create the folder"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", "let the user who runs knack read the folder"
	case errors.Is(err, syscall.ELOOP):
		return "link loop", "make the link point to a folder, or name the folder itself"
	}
	return Reason(err), "see whether the disk and the folder can be read at all"
}
