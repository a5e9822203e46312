package skill

import "errors"

// Reasons why a file could not be read. Sources return them wrapped. Other failures are
// [io/fs.ErrNotExist], [io/fs.ErrPermission] or an error of the system.
var (
	// ErrOutside: the name, or a link it passes through, leaves the skill's folder.
	ErrOutside = errors.New("leads outside the skill's folder")
	// ErrNotRegular: a directory, pipe, socket or device in a file's place.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge: more bytes than the limit for its kind of file.
	ErrTooLarge = errors.New("too large")
	// ErrNotUTF8: bytes that are not valid UTF-8 where text is required.
	ErrNotUTF8 = errors.New("not valid UTF-8")
	// ErrUnstable: the file changed each time it was read.
	ErrUnstable = errors.New("changes while it is read")
	// ErrBusy: too many reads of one disk have not been answered yet.
	ErrBusy = errors.New("the disk does not answer, and too many reads are waiting for it")
	// ErrNoRoom: too much is being answered at once.
	ErrNoRoom = errors.New("the server is busy; try again")
	// ErrIncomplete: a folder of the skill cannot be read or is deeper than
	// [MaxDepth] levels, so that a list of its files would lack some.
	ErrIncomplete = errors.New("a folder cannot be read or is more than 12 levels deep, or a file has a name that no URI can carry, so that files would be missing")
)
