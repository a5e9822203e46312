package skill

import (
	"fmt"
	"strings"
)

// reservedNames lists the devices of Windows, which are reserved with any extension
// (learn.microsoft.com, Naming Files, Paths, and Namespaces).
var reservedNames = map[string]bool{
	"CON": true, "PRN": true, "AUX": true, "NUL": true, "CONIN$": true, "CONOUT$": true,
	"COM1": true, "COM2": true, "COM3": true, "COM4": true, "COM5": true, "COM6": true, "COM7": true, "COM8": true, "COM9": true,
	"LPT1": true, "LPT2": true, "LPT3": true, "LPT4": true, "LPT5": true, "LPT6": true, "LPT7": true, "LPT8": true, "LPT9": true,
	"COM¹": true, "COM²": true, "COM³": true, "LPT¹": true, "LPT²": true, "LPT³": true,
}

// WindowsFault returns what makes a name impossible on Windows, for example "the name of a
// device", or "" for a name that Windows accepts.
func WindowsFault(name string) string {
	for _, r := range name {
		if r < ' ' || strings.ContainsRune(`<>:"|?*\`, r) {
			return fmt.Sprintf("the character %q", r)
		}
	}
	if base, _, _ := strings.Cut(name, "."); reservedNames[strings.ToUpper(strings.TrimRight(base, " "))] {
		return "the name of a device"
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return "a dot or blank at its end"
	}
	return ""
}
