package skillsext

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Declare adds the extension to a server's capabilities, in the inline form of SEP-2133. The server
// must declare resources too.
func Declare(caps *mcp.ServerCapabilities, directoryRead bool) {
	settings := map[string]any{}
	if directoryRead {
		settings["directoryRead"] = true
	}
	caps.AddExtension(ExtensionID, settings)
}

// Complete is the resultType of every result of the extension.
const Complete = "complete"
