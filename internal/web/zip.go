package web

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// zip answers with a ZIP archive of all files of a skill, in a folder with the name of the skill's
// folder. The archive is complete before it is sent, so that a file that changes meanwhile cannot
// damage it.
func (s *Site) zip(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	e, file, err := s.addressed(&v, r, "/zip/")
	if err != nil {
		return err
	}
	if file != "." && file != skill.MainFile {
		return problem(http.StatusNotFound, "This address names a file of a skill; only a whole skill is packed.")
	}
	if err := limit.Reserve(r.Context(), skill.FolderMemory); err != nil {
		return err
	}
	e, files, err := v.Manifest(r.Context(), e)
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case errors.Is(err, skill.ErrTooLarge):
		return problem(http.StatusRequestEntityTooLarge, sentence("the skill is too large to be packed: "+skill.Reason(err)))
	case errors.Is(err, skill.ErrIncomplete):
		return problem(http.StatusUnprocessableEntity, sentence("the skill cannot be packed: "+skill.Reason(err)))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, skill.ErrBusy):
		return readFault(err)
	case err != nil:
		return problem(http.StatusServiceUnavailable, sentence("the skill cannot be packed: "+skill.Reason(err)))
	}
	name := archiveName(e.Folder())
	data, err := pack(r, v, e, name, files)
	if err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Content-Security-Policy", rawPolicy)
	h.Set("Content-Disposition", `attachment; filename="`+name+`.zip"`)
	return answerTagged(r, "application/zip", data)
}

// pack returns a ZIP archive of the files. Equal files give equal bytes. No path in a manifest
// leads out of the folder, on any system.
func pack(r *request, v catalog.View, e *catalog.Entry, folder string, files []skill.File) ([]byte, error) {
	var size int64
	for _, f := range files {
		size += f.Size
	}
	if err := limit.Reserve(r.Context(), 2*size); err != nil { // as large as the files at most, in a buffer that grows by copying
		return nil, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		data, err := readFile(r.Context(), v, e, f.Path)
		if err != nil {
			return nil, err
		}
		if skill.DigestOf(data) != f.Digest {
			return nil, problem(http.StatusServiceUnavailable, "The skill changed while it was packed. Try again.")
		}
		out, err := w.Create(folder + "/" + f.Path)
		if err == nil {
			_, err = out.Write(data)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// archiveName returns a folder's name with only characters that every system and header accepts.
func archiveName(folder string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, folder)
	if name = strings.Trim(name, "-."); name == "" || len(name) > 100 {
		return "skill"
	}
	return name
}
