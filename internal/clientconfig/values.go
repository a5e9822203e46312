package clientconfig

import (
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Values returns the values of a client's file that knack does not change. A file whose name ends
// in .toml is TOML. Any other file is JSON, which may have comments and trailing commas.
func Values(file string, data []byte) (map[string]any, error) {
	if strings.HasSuffix(file, ".toml") {
		if err := checkTOML(data); err != nil {
			return nil, err
		}
		out := map[string]any{}
		err := toml.Unmarshal(trimMark(data), &out)
		return out, err
	}
	f, err := parseJSON(data, dialectLax)
	if err != nil {
		return nil, err
	}
	return f.value(), nil
}
