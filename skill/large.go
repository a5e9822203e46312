package skill

import "context"

// LargeManifest is [Skill.Manifest] with the given limits instead of the limits for publication.
// The files need not belong to one state. A file that changes meanwhile is described as it was
// read. LargeManifest does not hash known files again if their stamps are unchanged.
func (s *Skill) LargeManifest(ctx context.Context, known []File, maxFiles int, maxSize int64) ([]File, error) {
	files, more, err := s.List(ctx, maxFiles)
	if err != nil {
		return nil, err
	}
	was := make(map[string]File, len(known))
	for _, f := range known {
		was[f.Path] = f
	}
	total := int64(0)
	for i, f := range files {
		if total += f.Size; more || total > maxSize {
			return nil, ErrTooLarge
		}
		if k, ok := was[f.Path]; ok && k.Stamp == f.Stamp {
			files[i] = k
			continue
		}
		if files[i], err = s.Hash(f.Path); err != nil {
			return nil, err
		}
	}
	return files, nil
}
