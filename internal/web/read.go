package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// readFile reads a file of a skill for the client. It returns errors as messages for
// the client.
func readFile(ctx context.Context, v catalog.View, e *catalog.Entry, file string) ([]byte, error) {
	if file == "." {
		return nil, problem(http.StatusNotFound, "This is a folder.")
	}
	if skill.Hidden(file) {
		return nil, problem(http.StatusNotFound, "The skill has no such file.")
	}
	if file == skill.MainFile {
		data, _, err := v.Read(ctx, e)
		return data, readFault(err)
	}
	data, err := v.ReadFile(ctx, e, file, pageCopies)
	return data, readFault(err)
}

// pageCopies is the number of copies of a file in memory while a page is built. These are its
// bytes, its text, and the page, which may contain it twice.
const pageCopies = 4

func readFault(err error) error {
	switch {
	case err == nil, errors.Is(err, skill.ErrNoRoom), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, skill.ErrOutside):
		return problem(http.StatusNotFound, "The skill has no such file.")
	case errors.Is(err, skill.ErrNotRegular):
		return problem(http.StatusNotFound, "This is a folder, or not a regular file.")
	case errors.Is(err, skill.ErrTooLarge):
		return problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("The file is too large to be served: a SKILL.md may have %d MiB, another file %d MiB. It is there, and can be opened in the skill's own folder.", skill.MaxSkillMD>>20, skill.MaxFile>>20))
	case errors.Is(err, skill.ErrBusy):
		return problem(http.StatusServiceUnavailable, "The disk does not answer. Try again later.")
	}
	return problem(http.StatusInternalServerError, "The file cannot be read: "+skill.Reason(err)+".")
}
