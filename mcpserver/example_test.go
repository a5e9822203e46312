package mcpserver_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/tool"
)

// The MCP server in a program of one's own: over the catalogue that the program
// has, on any transport. [mcpserver.Server.MCP] is the SDK's server, to which the
// program may add tools of its own.
func Example() {
	ctx := context.Background()
	skills := catalog.New([]catalog.Source{builtin.New()}, catalog.Options{})
	if err := skills.Refresh(ctx); err != nil { // a long-running program calls go skills.Run(ctx)
		panic(err)
	}
	tools, err := tool.ParseSets(tool.DefaultSet)
	if err != nil {
		panic(err)
	}
	server := mcpserver.New(mcpserver.Options{Catalog: skills, Tools: tools, Version: "v1.0.0"})

	here, there := mcp.NewInMemoryTransports() // for stdio: server.Run(ctx, &mcpserver.StdioTransport{…})
	if _, err := server.MCP().Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "v1.0.0"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	answer, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": "engage"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.SplitN(answer.Content[0].(*mcp.TextContent).Text, "\n", 2)[0])
	prompts, err := client.ListPrompts(ctx, nil)
	if err != nil {
		panic(err)
	}
	for _, p := range prompts.Prompts {
		fmt.Println("prompt:", p.Name)
	}
	// Output:
	// Loading: engage
	// prompt: engage
	// prompt: write-a-skill
}
