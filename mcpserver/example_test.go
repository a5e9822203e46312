package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/tool"
)

// This example serves MCP as one of several handlers of a program.
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
	server := mcpserver.New(mcpserver.Options{Catalog: skills, Tools: tools, Version: "1.0", Remote: true})
	web, err := mcpserver.NewHTTP(server, mcpserver.HTTPOptions{})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", web)
	listener := httptest.NewServer(mux)
	defer listener.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: listener.URL + "/mcp"}, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": "engage"}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.40s\n", answer.Content[0].(*mcp.TextContent).Text)
	// Output:
	// Loading: engage
	// Base directory: skill://
}
