package model

import "context"

// LocalServer is a model server that runs on this machine.
type LocalServer struct {
	// Name is the program's, "Ollama".
	Name string
	// URL is that of an [Endpoint] with the wire [OpenAI].
	URL string
	// Models are the models that it has, without those whose name says that they only make
	// embeddings. It may have none.
	Models []string
	// Advice says how to get a model.
	Advice string
}

// Local asks the ports of this machine on which model servers listen, all at once and for 300
// milliseconds, and returns those that answer with a list of models, in a fixed order. A Proxy
// is not used.
func Local(ctx context.Context, o Options) []LocalServer { return nil }
