package clientconfig

import (
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Values returns the values of a client's file: TOML if its name ends so, else JSON, with or
// without comments and trailing commas. It is for files that are only read.
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
