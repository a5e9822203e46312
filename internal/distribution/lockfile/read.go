package lockfile

import (
	"errors"
	"io/fs"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// UnreadableError is the error of a knack.lock that exists and cannot be read.
type UnreadableError struct {
	Reason string // follows the name of the file: "is a link, which knack does not follow there"
	Fix    string
}

// Error returns the reason after the name of the file.
func (e *UnreadableError) Error() string { return Name + " " + e.Reason }

// Read returns the knack.lock of a folder and its stamp. If the stamp is equal to known, it returns
// no data. It follows no link and waits for no pipe: anything but a regular file is an
// [UnreadableError]. Without a lock the error is [fs.ErrNotExist].
func Read(folder *dir.Tree, known skill.Stamp) (data []byte, stamp skill.Stamp, err error) {
	f, err := folder.Open(Name)
	if errors.Is(err, skill.ErrUnstable) {
		return nil, skill.Stamp{}, &UnreadableError{"is a link, which knack does not follow there", "make it a file of the project"}
	}
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			stamp = skill.StampOf(info)
		}
		f.Close()
		if err == nil && known != (skill.Stamp{}) && stamp == known {
			return nil, stamp, nil
		}
	}
	if err == nil {
		data, stamp, err = skill.ReadFile(folder, Name, MaxSize)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return data, stamp, err
	}
	return nil, skill.Stamp{}, Unreadable(err)
}

// Unreadable returns the error for a lock that cannot be read because of err. err is about the lock
// or its folder.
func Unreadable(err error) *UnreadableError {
	fix := "let the user who runs knack read the file"
	switch {
	case errors.Is(err, skill.ErrTooLarge):
		fix = "lock fewer skills in one folder; the limit is 32 MiB"
	case errors.Is(err, skill.ErrNotRegular):
		fix = "make it a regular file that can be read"
	}
	return &UnreadableError{"cannot be read: " + skill.Reason(err), fix}
}
